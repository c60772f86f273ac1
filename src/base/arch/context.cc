#include "base/arch/context.h"

#include <cstring>

#include "base/arch/aarch64/context_layout.h"
#include "base/arch/arm/context_layout.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86/context_layout.h"
#include "base/arch/x86_64/context_layout.h"
#include "base/system/byte_cursor.h"

namespace mixstack::arch {

const ContextLayout* context_layout(Arch arch) {
  static constexpr PerCpu<const ContextLayout*> kLayouts{.x86_64 = &x86_64::kContextLayout,
                                                         .aarch64 = &aarch64::kContextLayout,
                                                         .x86 = &x86::kContextLayout,
                                                         .arm = &arm::kContextLayout};
  return kLayouts[arch];
}

Result<std::size_t> encode_context(const Registers& registers, std::span<std::byte> out, std::uint32_t context_flags,
                                   std::span<const std::byte> stored) {
  const ContextLayout* layout = context_layout(registers.arch());
  if (layout == nullptr) return fail(ErrorCode::unsupported_cpu);
  if (out.size() < layout->size) return fail(ErrorCode::invalid_argument, layout->size);
  std::memset(out.data(), 0, layout->size);
  if (stored.size() >= layout->size) std::memcpy(out.data(), stored.data(), layout->size);
  const std::uint32_t flags = context_flags != 0 ? context_flags : layout->flags_full;
  std::memcpy(out.data() + layout->flags_offset, &flags, sizeof flags);
  for (const ContextRegister& r : layout->registers) {
    const std::uint64_t value = registers.get(r.reg).value_or(0);
    std::memcpy(out.data() + r.offset, &value, layout->register_size);
  }
  return layout->size;
}

Result<Registers> decode_context(Arch arch, std::span<const std::byte> context) {
  const ContextLayout* layout = context_layout(arch);
  if (layout == nullptr) return fail(ErrorCode::unsupported_cpu);
  if (context.size() < layout->size) return fail(ErrorCode::truncated, context.size());
  Registers registers(arch);
  for (const ContextRegister& r : layout->registers) {
    std::uint64_t value = 0;
    std::memcpy(&value, context.data() + r.offset, layout->register_size);
    registers.set(r.reg, value);
  }
  return registers;
}

Result<std::uint32_t> context_flags(Arch arch, std::span<const std::byte> context) {
  const ContextLayout* layout = context_layout(arch);
  if (layout == nullptr) return fail(ErrorCode::unsupported_cpu);
  const auto flags = base::load_at<std::uint32_t>(context, layout->flags_offset);
  if (!flags) return fail(ErrorCode::truncated, context.size());
  return *flags;
}

}  // namespace mixstack::arch
