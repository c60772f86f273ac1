#include "base/arch/aarch64/restarted_call.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::arch::aarch64 {
namespace {

constexpr std::uint32_t kCalls[] = {98, 101, 115};  // futex, nanosleep, clock_nanosleep
constexpr std::uint32_t kSvc = 0xd4000001;          // svc #0
constexpr std::uint32_t kMovz = 0xd2800008;         // mov x8, #0: the number from bit 5 on
constexpr std::uint32_t kMovzMask = 0xffe0001f;

}  // namespace

std::int64_t restarted_call(std::span<const std::byte> code) {
  constexpr std::size_t kSize = sizeof(std::uint32_t);
  const auto word = [&](std::size_t at) { return base::load_at<std::uint32_t>(code, at).value_or(0); };
  if (code.size() % kSize != 0 || code.size() < 2 * kSize || word(code.size() - kSize) != kSvc) return -1;
  for (std::size_t at = code.size() - 2 * kSize;; at -= kSize) {
    const std::uint32_t number = (word(at) & ~kMovzMask) >> 5;
    const bool is_one = std::find(std::begin(kCalls), std::end(kCalls), number) != std::end(kCalls);
    if ((word(at) & kMovzMask) == kMovz) return is_one ? std::int64_t{number} : -1;
    if (at == 0) return -1;
  }
}

}  // namespace mixstack::arch::aarch64
