#include "process/kernel/vector_set.h"

#include <array>

namespace mixstack::process::aarch64 {
namespace {

constexpr std::size_t kNeonCount = 32, kNeonBytes = kNeonCount * kVectorHalf;
// struct rt_sigframe: siginfo, then a ucontext whose sigcontext (arch/arm64/include/uapi/asm/sigcontext.h) has records
// after 288 bytes; that of the FPSIMD registers begins with magic, size, fpsr and fpcr.
constexpr Address kRecords = 128 + 176 + 288;
constexpr std::uint32_t kFpsimd = 0x46508001;
constexpr std::size_t kFpsimdHead = 16, kFpsimdSize = 528, kReserved = 4096;
constexpr int kMostRecords = 32;

}  // namespace

std::optional<VectorRegisters> decode_fp_registers(std::span<const std::byte> bytes) {
  if (bytes.size() < kNeonBytes) return std::nullopt;
  return take_vectors(bytes, 0, kNeonCount);
}

std::optional<VectorRegisters> read_interrupted_vectors(const MemoryReader& memory, Address sp) {
  struct Record {
    std::uint32_t magic, size;
  };
  const Address begin = sp + kRecords;
  Address at = begin;
  for (int i = 0; i < kMostRecords && at - begin <= kReserved - kFpsimdSize; i++) {
    const auto record = memory.read<Record>(at);
    if (!record || record->size < sizeof(Record)) return std::nullopt;
    std::array<std::byte, kNeonBytes> bytes;
    if (record->magic == kFpsimd && record->size == kFpsimdSize && memory.read_exact(at + kFpsimdHead, bytes))
      return decode_fp_registers(bytes);
    at += record->size;
  }
  return std::nullopt;
}

}  // namespace mixstack::process::aarch64
