#include "process/kernel/vector_set.h"

#include <algorithm>

#include "base/arch/per_cpu.h"

namespace mixstack::process {
namespace {

struct VectorFormats {
  using Decode = std::optional<VectorRegisters> (*)(std::span<const std::byte>);
  Decode fp = nullptr;
  std::uint32_t extended_note = 0;
  Decode extended = nullptr;  ///< decodes what `fp` does, too
  std::optional<VectorRegisters> (*interrupted)(const MemoryReader&, Address) = nullptr;
};

constexpr std::uint32_t kXstate = 0x202;  // NT_X86_XSTATE, uapi/linux/elf.h
constexpr arch::PerCpu<VectorFormats> kFormats{
    .x86_64 = {x86_64::decode_fp_registers, kXstate, x86_64::decode_xstate, x86_64::read_interrupted_vectors},
    .aarch64 = {aarch64::decode_fp_registers, 0, aarch64::decode_fp_registers, aarch64::read_interrupted_vectors}};

}  // namespace

VectorRegisters take_vectors(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  VectorRegisters set;
  set.size = kVectorHalf;
  set.values.resize(count);
  for (std::size_t i = 0; i < count; i++)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset + i * kVectorHalf), kVectorHalf,
                set.values[i].begin());
  return set;
}

bool is_extended_vector_note(Arch arch, std::uint32_t type) {
  return type != 0 && type == kFormats[arch].extended_note;
}

std::optional<VectorRegisters> decode_fp_registers(Arch arch, std::span<const std::byte> bytes) {
  const auto decode = kFormats[arch].fp;
  return decode == nullptr ? std::nullopt : decode(bytes);
}

std::optional<VectorRegisters> decode_vectors(Arch arch, std::span<const std::byte> bytes) {
  const auto decode = kFormats[arch].extended;
  return decode == nullptr ? std::nullopt : decode(bytes);
}

std::shared_ptr<const VectorRegisters> read_interrupted_vectors(Arch arch, const MemoryReader& memory, Address sp) {
  const auto read = kFormats[arch].interrupted;
  return read == nullptr ? nullptr : shared_vectors(read(memory, sp));
}

std::shared_ptr<const VectorRegisters> shared_vectors(std::optional<VectorRegisters> set) {
  return set ? std::make_shared<const VectorRegisters>(std::move(*set)) : nullptr;
}

}  // namespace mixstack::process
