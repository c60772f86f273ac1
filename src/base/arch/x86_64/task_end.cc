#include "base/arch/x86_64/task_end.h"

#include "base/system/byte_cursor.h"

namespace mixstack::arch::x86_64 {
namespace {

constexpr std::uint32_t kExit = 60, kExitGroup = 231;

}  // namespace

bool ends_task(std::span<const std::byte> code) {
  const auto byte = [&](std::size_t at) { return base::load_at<std::uint8_t>(code, at).value_or(0); };
  std::size_t at = byte(0) == 0x48 ? 1 : 0;
  if (byte(at) != 0x89 || byte(at + 1) != 0xc7) return false;  // mov %eax,%edi
  at += 2;
  std::uint32_t number = 0;
  if (byte(at) == 0x31 && byte(at + 1) == 0xc0 && byte(at + 2) == 0xb0) {  // xor %eax,%eax; mov $n,%al
    number = byte(at + 3);
    at += 4;
  } else if (byte(at) == 0xb8) {  // mov $n,%eax
    number = base::load_at<std::uint32_t>(code, at + 1).value_or(0);
    at += 5;
  }
  const bool is_syscall = byte(at) == 0x0f && byte(at + 1) == 0x05;
  return is_syscall && (number == kExit || number == kExitGroup);
}

}  // namespace mixstack::arch::x86_64
