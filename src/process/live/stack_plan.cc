#include "process/live/stack_plan.h"

#include <algorithm>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "process/kernel/memory_map.h"

namespace mixstack::process {
namespace {

[[nodiscard]] bool is_joinable(const Region& r) {
  return r.readable && r.writable && !r.shared && r.inode == 0 && (r.path.empty() || r.path == "[stack]");
}

/// The lowest of `candidate` (0: none) and the preserved registers that point into `stack`.
[[nodiscard]] Address lowest_of(Address candidate, const Registers& registers, const AddressRange& stack) {
  const std::uint64_t preserved = arch::cpu(registers.arch()).preserved.platform_unix;
  for (unsigned reg = 0; reg < Registers::kMax; reg++) {
    const auto value = (preserved >> reg & 1) != 0 ? registers.get(reg) : std::nullopt;
    if (value && stack.contains(*value) && (candidate == 0 || *value < candidate)) candidate = *value;
  }
  return candidate;
}

}  // namespace

AddressRange stack_extent(const std::vector<Region>& regions, Address sp, Address thread_pointer) {
  const Region* region = find_region(regions, sp);
  if (region == nullptr) return {};
  AddressRange joined = region->range;
  const Region* const last = regions.data() + regions.size();
  for (const Region* r = region + 1; r != last && is_joinable(r[-1]) && is_joinable(*r); r++) {
    if (r->range.begin != joined.end || joined.contains(thread_pointer)) break;
    joined.end = r->range.end;
  }
  if (thread_pointer > sp && joined.contains(thread_pointer)) return {region->range.begin, thread_pointer};
  return region->range;
}

bool is_known_stack(const std::vector<Region>& regions, Address sp, Address thread_pointer) {
  const AddressRange extent = stack_extent(regions, sp, thread_pointer);
  if (extent.empty()) return false;
  return extent.end == thread_pointer || find_region(regions, sp)->path == "[stack]";
}

AddressRange home_stack(const std::vector<Region>& regions, bool is_main_thread, Address thread_pointer) {
  if (!is_main_thread) {
    const Region* region = find_region(regions, thread_pointer);
    return region == nullptr ? AddressRange{} : AddressRange{region->range.begin, thread_pointer};
  }
  for (const auto& r : regions)
    if (r.path == "[stack]") return r.range;
  return {};
}

std::size_t plan_stacks(std::span<StackCopy> copies, const std::vector<Region>& regions, std::size_t initial,
                        std::size_t budget, std::vector<std::size_t>& order) {
  order.clear();
  for (std::size_t i = 0; i < copies.size(); i++) {
    StackCopy& c = copies[i];
    const AddressRange extent = stack_extent(regions, c.sp, c.thread_pointer);
    c.stack_end = extent.end;
    if (extent.empty()) {
      // Made since the regions were read: the read itself finds out how far it reaches.
      c.begin = c.sp;
      c.size = initial;
      c.truncated = true;
      continue;
    }
    c.begin = c.sp - extent.begin > kRedZone ? c.sp - kRedZone : extent.begin;
    c.size = static_cast<std::size_t>(std::min<Address>(initial, extent.end - c.begin));
    c.truncated = c.begin + c.size < extent.end;
    if (c.truncated && is_known_stack(regions, c.sp, c.thread_pointer)) order.push_back(i);
  }
  const auto rest = [&](std::size_t i) { return copies[i].stack_end - copies[i].begin - copies[i].size; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rest(a) < rest(b); });
  for (const std::size_t i : order) {
    const auto more = static_cast<std::size_t>(std::min<Address>(rest(i), budget));
    copies[i].size += more;
    budget -= more;
    copies[i].truncated = rest(i) > 0;
  }
  return budget;
}

Address lowest_pointer_into(MemorySlice stack, Address from, AddressRange other) {
  Address lowest = 0;
  from = std::max((from + 7) & ~Address{7}, stack.base);
  for (Address at = from; at < stack.range().end; at += 8) {
    const auto word = base::load_at<std::uint64_t>(stack.bytes, at - stack.base);
    if (word && other.contains(*word) && (lowest == 0 || *word < lowest)) lowest = *word;
  }
  return lowest;
}

AddressRange left_part(const Registers& registers, MemorySlice stack, AddressRange own) {
  const Address sp = registers.sp();
  if (own.empty() || own.contains(sp)) return {};
  const Address left = lowest_of(lowest_pointer_into(stack, sp, own), registers, own);
  if (left == 0) return {};
  return {left - own.begin > kRedZone ? left - kRedZone : own.begin, own.end};
}

}  // namespace mixstack::process
