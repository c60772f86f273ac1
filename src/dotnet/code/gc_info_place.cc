#include "dotnet/code/gc_info_place.h"

#include <limits>
#include <optional>

#include "base/arch/per_cpu.h"
#include "dotnet/code/frames/aarch64/unwind_data_size.h"
#include "dotnet/code/frames/x86_64/unwind_data_size.h"

namespace mixstack::dotnet {
namespace {

std::optional<std::uint32_t> version_of_image(std::uint16_t major_version) {
  constexpr std::uint16_t kFirstOf4 = 11, kLastOf4 = 16, kOf5 = 26;
  if (major_version >= kFirstOf4 && major_version <= kLastOf4) return 4;
  return major_version == kOf5 ? std::optional<std::uint32_t>(5) : std::nullopt;
}

using SizeOfUnwindData = Result<std::uint32_t> (*)(const MemoryReader& memory, Address unwind);
constexpr arch::PerCpu<SizeOfUnwindData> kSizes{.x86_64 = frames::x86_64::unwind_data_size,
                                                .aarch64 = frames::aarch64::unwind_data_size};

}  // namespace

Result<GcInfoPlace> gc_info_of_jit(const RuntimeMemory& memory, Address code_header) {
  const Global& version = memory.layouts().globals.gc_info_version;
  if (!version) return fail(ErrorCode::field_unavailable, code_header);
  const auto at = memory.pointer(code_header, memory.layouts().real_code_header.gc_info);
  if (!at) return fail(at.error());
  if (*at == 0 || version.value > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::malformed, code_header);
  return GcInfoPlace{*at, static_cast<std::uint32_t>(version.value), false};
}

Result<GcInfoPlace> gc_info_of_image(const RuntimeMemory& memory, const FunctionTable& table, Address method_start,
                                     std::uint16_t major_version) {
  const auto version = version_of_image(major_version);
  if (!version) return fail(ErrorCode::unsupported, major_version);
  const Address offset = method_start - table.image_base;
  if (method_start < table.image_base || offset > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::not_found, method_start);
  const RuntimeMemory tables = memory.constants();
  const auto row = table.find(tables, static_cast<std::uint32_t>(offset));
  if (!row) return fail(row.error());
  if (table.image_base + row->function.begin != method_start) return fail(ErrorCode::not_found, method_start);
  constexpr std::uint32_t kPersonality = 4;
  const Address unwind = table.image_base + row->function.unwind_data;
  const SizeOfUnwindData size_of = kSizes[memory.layouts().arch];
  if (size_of == nullptr) return fail(ErrorCode::unsupported_cpu);
  const auto size = size_of(tables.reader(), unwind);
  if (!size) return fail(size.error());
  return GcInfoPlace{unwind + *size + kPersonality, *version, true};
}

}  // namespace mixstack::dotnet
