#include "process/kernel/vector_set.h"

#include <algorithm>
#include <array>

#include "base/system/byte_cursor.h"

namespace mixstack::process::x86_64 {
namespace {

constexpr std::size_t kXmmOffset = 160, kXmmCount = 16, kFxsaveSize = 512;
constexpr std::size_t kXstateHeader = 512, kYmmOffset = 576;  // component 2 always lies there in the standard form
constexpr std::uint64_t kYmmComponent = 1U << 2;
// struct _fpstate_64 and struct _fpx_sw_bytes, Linux arch/x86/include/uapi/asm/sigcontext.h
constexpr Address kFpstatePointer = 40 + 184;  // from the ucontext at sp: its sigcontext, there `fpstate`
constexpr std::size_t kSoftwareBytes = 464;
constexpr std::uint32_t kExtended = 0x46505853;  // FP_XSTATE_MAGIC1

}  // namespace

std::optional<VectorRegisters> decode_fp_registers(std::span<const std::byte> bytes) {
  if (bytes.size() < kFxsaveSize) return std::nullopt;
  return take_vectors(bytes, kXmmOffset, kXmmCount);
}

std::optional<VectorRegisters> decode_xstate(std::span<const std::byte> bytes) {
  auto set = decode_fp_registers(bytes);
  if (!set) return std::nullopt;
  const auto components = base::load_at<std::uint64_t>(bytes, kXstateHeader).value_or(0);
  if ((components & kYmmComponent) == 0 || bytes.size() < kYmmOffset + kXmmCount * kVectorHalf) return set;
  set->size = 2 * kVectorHalf;
  for (std::size_t i = 0; i < kXmmCount; i++)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(kYmmOffset + i * kVectorHalf), kVectorHalf,
                set->values[i].begin() + kVectorHalf);
  return set;
}

std::optional<VectorRegisters> read_interrupted_vectors(const MemoryReader& memory, Address sp) {
  const auto at = memory.read<Address>(sp + kFpstatePointer);
  std::array<std::byte, kVectorSetBytes> bytes;
  const auto legacy = std::span(bytes).first<kFxsaveSize>();
  if (!at || *at == 0 || !memory.read_exact(*at, legacy)) return std::nullopt;
  const bool is_extended = base::load_at<std::uint32_t>(legacy, kSoftwareBytes) == kExtended;
  if (is_extended && memory.read_exact(*at, bytes)) return decode_xstate(bytes);
  return decode_fp_registers(legacy);
}

}  // namespace mixstack::process::x86_64
