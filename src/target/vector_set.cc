#include "target/vector_set.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace mixstack::target {
namespace {

constexpr std::size_t kHalf = 16;  // bytes of an xmm or v register
constexpr std::size_t kXmmOffset = 160, kXmmCount = 16, kFxsaveSize = 512;
constexpr std::size_t kNeonCount = 32;
constexpr std::size_t kXstateHeader = 512, kYmmOffset = 576;  // component 2 always lies there in the standard form
constexpr std::uint64_t kYmmComponent = 1U << 2;

[[nodiscard]] VectorRegisters take(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  VectorRegisters set;
  set.size = kHalf;
  set.values.resize(count);
  for (std::size_t i = 0; i < count; i++)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset + i * kHalf), kHalf, set.values[i].begin());
  return set;
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

}  // namespace mixstack::target
