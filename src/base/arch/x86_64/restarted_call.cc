#include "base/arch/x86_64/restarted_call.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::arch::x86_64 {
namespace {

constexpr std::uint32_t kCalls[] = {7, 35, 202, 230};  // poll, nanosleep, futex, clock_nanosleep

}  // namespace

std::int64_t restarted_call(std::span<const std::byte> code) {
  const auto byte = [&](std::size_t at) { return base::load_at<std::uint8_t>(code, at).value_or(0); };
  if (code.size() < 7 || byte(code.size() - 2) != 0x0f || byte(code.size() - 1) != 0x05) return -1;
  for (std::size_t at = code.size() - 7;; at--) {
    const std::uint32_t number = base::load_at<std::uint32_t>(code, at + 1).value_or(0);
    if (byte(at) == 0xb8 && std::find(std::begin(kCalls), std::end(kCalls), number) != std::end(kCalls)) return number;
    if (at == 0) return -1;
  }
}

}  // namespace mixstack::arch::x86_64
