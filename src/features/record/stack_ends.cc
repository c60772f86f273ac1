#include "features/record/stack_ends.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/system/small_file.h"

namespace mixstack::record {
namespace {

constexpr std::size_t kMostText = 64u << 20;

struct Mapping {
  AddressRange range;
  bool may_be_stack = false;
};

/// "7f00-7f80 rw-p 00000000 00:00 0   [stack]" (fs/proc/task_mmu.c).
std::optional<Mapping> parse_mapping(std::string_view line) {
  Mapping mapping;
  const char* const end = line.data() + line.size();
  const auto begin = std::from_chars(line.data(), end, mapping.range.begin, 16);
  if (begin.ec != std::errc() || begin.ptr == end || *begin.ptr != '-') return std::nullopt;
  const auto last = std::from_chars(begin.ptr + 1, end, mapping.range.end, 16);
  if (last.ec != std::errc()) return std::nullopt;
  std::string_view rest(last.ptr, static_cast<std::size_t>(end - last.ptr));
  const bool is_writable = rest.starts_with(" rw");
  // Behind the permissions: offset, device, inode.
  for (int i = 0; i < 4; i++) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (i < 3) rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  mapping.may_be_stack = is_writable && (rest == "0" || rest.starts_with("0 "));
  return mapping;
}

}  // namespace

AddressRange stack_around(std::string_view maps, Address address) {
  AddressRange stack;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const auto mapping = parse_mapping(maps.substr(0, end));
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (!mapping) continue;
    if (stack.empty()) {
      if (!mapping->range.contains(address)) continue;
      if (!mapping->may_be_stack) return {};
      stack = mapping->range;
    } else {
      if (mapping->range.begin != stack.end || !mapping->may_be_stack) break;
      stack.end = mapping->range.end;
    }
  }
  return stack;
}

std::size_t StackEnds::fit(ThreadId tid, Address sp, std::size_t size) {
  Thread& thread = threads_[tid];
  if (thread.stack.contains(sp)) return std::min<std::size_t>(size, thread.stack.end - sp);
  thread.sp = sp;
  if (thread.looks < kMostLooks) is_any_unknown_ = true;
  return size;
}

void StackEnds::look(std::uint64_t now_ns) {
  if (!is_any_unknown_ || now_ns - looked_ns_ < kInterval) return;
  looked_ns_ = now_ns;
  is_any_unknown_ = false;
  const std::string maps = base::text_at("/proc/" + std::to_string(pid_) + "/maps", kMostText);
  for (auto& [tid, thread] : threads_) {
    if (thread.stack.contains(thread.sp) || thread.sp == 0 || thread.looks >= kMostLooks) continue;
    thread.looks++;
    thread.stack = stack_around(maps, thread.sp);
  }
}

}  // namespace mixstack::record
