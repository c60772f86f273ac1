#include "features/record/memory_event.h"

#include <sys/syscall.h>

#include "base/arch/call_arguments.h"
#include "base/system/byte_cursor.h"

namespace mixstack::record {
namespace {

using Kind = MemoryEvent::Kind;

/// Offsets in /sys/kernel/tracing/events/raw_syscalls/sys_exit/format: a header of 8 bytes, then two longs.
constexpr std::size_t kNumber = 8, kResult = 16;
/// Results above are error numbers.
constexpr std::uint64_t kLeastError = static_cast<std::uint64_t>(-4095);

}  // namespace

MemoryEvent touched_page(Address address, std::uint64_t page_bytes) {
  const Address page = address & ~(page_bytes - 1);
  return {Kind::touched, {page, page + page_bytes}};
}

std::optional<MemoryEvent> memory_call(std::span<const std::byte> raw, const Registers& user,
                                       std::uint64_t page_bytes) {
  const auto number = base::load_at<std::int64_t>(raw, kNumber);
  const auto result = base::load_at<std::uint64_t>(raw, kResult);
  if (!number || !result || *result >= kLeastError) return std::nullopt;
  if (*number == SYS_brk) return MemoryEvent{Kind::broke, {*result, *result}};
  if (*number != SYS_mmap && *number != SYS_mremap) return std::nullopt;
  // The registers of all arguments but the first last until the call returns.
  const auto size = user.get(arch::kCallArguments[user.arch()][*number == SYS_mmap ? 1 : 2]);
  if (!size || *size == 0 || *size > kLeastError - page_bytes - *result) return std::nullopt;
  const std::uint64_t pages = (*size + page_bytes - 1) & ~(page_bytes - 1);
  return MemoryEvent{Kind::mapped, {*result, *result + pages}};
}

std::string memory_calls_filter() {
  std::string filter;
  for (const long number : {SYS_mmap, SYS_brk, SYS_mremap})
    filter += (filter.empty() ? "id==" : "||id==") + std::to_string(number);
  return filter;
}

}  // namespace mixstack::record
