#include "base/arch/aarch64/task_end.h"

#include "base/system/byte_cursor.h"

namespace mixstack::arch::aarch64 {
namespace {

constexpr std::uint32_t kExit = 93, kExitGroup = 94;
constexpr std::uint32_t kMovX8 = 0xd2800008, kSupervisorCall = 0xd4000001;

}  // namespace

bool ends_task(std::span<const std::byte> code) {
  const std::uint32_t first = base::load_at<std::uint32_t>(code, 0).value_or(0);
  const bool is_exit = first == (kMovX8 | kExit << 5) || first == (kMovX8 | kExitGroup << 5);
  return is_exit && base::load_at<std::uint32_t>(code, 4) == kSupervisorCall;
}

}  // namespace mixstack::arch::aarch64
