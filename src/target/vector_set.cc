#include "target/vector_set.h"

#include <algorithm>
#include <array>

#include "base/byte_cursor.h"

namespace mixstack::target {
namespace {

constexpr std::size_t kHalf = 16;  // bytes of an xmm or v register
constexpr std::size_t kXmmOffset = 160, kXmmCount = 16, kFxsaveSize = 512;
constexpr std::size_t kNeonCount = 32;
constexpr std::size_t kXstateHeader = 512, kYmmOffset = 576;  // component 2 always lies there in the standard form
constexpr std::uint64_t kYmmComponent = 1U << 2;
// struct _fpstate_64 and struct _fpx_sw_bytes, Linux arch/x86/include/uapi/asm/sigcontext.h
constexpr Address kFpstatePointer = 40 + 184;  // from the ucontext at sp: its sigcontext, there `fpstate`
constexpr std::size_t kSoftwareBytes = 464;
constexpr std::uint32_t kExtended = 0x46505853;  // FP_XSTATE_MAGIC1
// struct rt_sigframe: siginfo, then a ucontext whose sigcontext (arch/arm64/include/uapi/asm/sigcontext.h) has records
// after 288 bytes; that of the FPSIMD registers begins with magic, size, fpsr and fpcr.
constexpr Address kArmRecords = 128 + 176 + 288;
constexpr std::uint32_t kFpsimd = 0x46508001;
constexpr std::size_t kFpsimdHead = 16, kFpsimdSize = 528, kArmReserved = 4096;
constexpr int kMostRecords = 32;

[[nodiscard]] VectorRegisters take(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  VectorRegisters set;
  set.size = kHalf;
  set.values.resize(count);
  for (std::size_t i = 0; i < count; i++)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset + i * kHalf), kHalf, set.values[i].begin());
  return set;
}

[[nodiscard]] std::shared_ptr<const VectorRegisters> shared(std::optional<VectorRegisters> set) {
  return set ? std::make_shared<const VectorRegisters>(std::move(*set)) : nullptr;
}

[[nodiscard]] std::optional<VectorRegisters> read_x86_64(const MemoryReader& memory, Address sp) {
  const auto at = memory.read<Address>(sp + kFpstatePointer);
  std::array<std::byte, kVectorSetBytes> bytes;
  const auto legacy = std::span(bytes).first<kFxsaveSize>();
  if (!at || *at == 0 || !memory.read_exact(*at, legacy)) return std::nullopt;
  const bool is_extended = base::load_at<std::uint32_t>(legacy, kSoftwareBytes) == kExtended;
  if (is_extended && memory.read_exact(*at, bytes)) return decode_xstate(bytes);
  return decode_fp_registers(Arch::x86_64, legacy);
}

[[nodiscard]] std::optional<VectorRegisters> read_aarch64(const MemoryReader& memory, Address sp) {
  struct Record {
    std::uint32_t magic, size;
  };
  const Address begin = sp + kArmRecords;
  Address at = begin;
  for (int i = 0; i < kMostRecords && at - begin <= kArmReserved - kFpsimdSize; i++) {
    const auto record = memory.read<Record>(at);
    if (!record || record->size < sizeof(Record)) return std::nullopt;
    std::array<std::byte, kNeonCount * kHalf> bytes;
    if (record->magic == kFpsimd && record->size == kFpsimdSize && memory.read_exact(at + kFpsimdHead, bytes))
      return decode_fp_registers(Arch::aarch64, bytes);
    at += record->size;
  }
  return std::nullopt;
}

}  // namespace

std::optional<VectorRegisters> decode_fp_registers(Arch arch, std::span<const std::byte> bytes) {
  if (arch == Arch::x86_64 && bytes.size() >= kFxsaveSize) return take(bytes, kXmmOffset, kXmmCount);
  if (arch == Arch::aarch64 && bytes.size() >= kNeonCount * kHalf) return take(bytes, 0, kNeonCount);
  return std::nullopt;
}

std::optional<VectorRegisters> decode_xstate(std::span<const std::byte> bytes) {
  if (bytes.size() < kFxsaveSize) return std::nullopt;
  VectorRegisters set = take(bytes, kXmmOffset, kXmmCount);
  const auto components = base::load_at<std::uint64_t>(bytes, kXstateHeader).value_or(0);
  if ((components & kYmmComponent) == 0 || bytes.size() < kYmmOffset + kXmmCount * kHalf) return set;
  set.size = 2 * kHalf;
  for (std::size_t i = 0; i < kXmmCount; i++)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(kYmmOffset + i * kHalf), kHalf,
                set.values[i].begin() + kHalf);
  return set;
}

std::shared_ptr<const VectorRegisters> decode_vectors(Arch arch, std::span<const std::byte> bytes) {
  return shared(arch == Arch::x86_64 ? decode_xstate(bytes) : decode_fp_registers(arch, bytes));
}

std::shared_ptr<const VectorRegisters> read_interrupted_vectors(Arch arch, const MemoryReader& memory, Address sp) {
  if (arch == Arch::x86_64) return shared(read_x86_64(memory, sp));
  if (arch == Arch::aarch64) return shared(read_aarch64(memory, sp));
  return nullptr;
}

}  // namespace mixstack::target
