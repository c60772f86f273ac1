#include "process/core/dumped_memory.h"

#include <algorithm>

namespace mixstack::process {
namespace {

/// The segment that holds `address`, or the first above it.
std::vector<CoreSegment>::const_iterator at_or_above(const std::vector<CoreSegment>& segments, Address address) {
  return std::partition_point(segments.begin(), segments.end(),
                              [address](const CoreSegment& s) { return s.range.end <= address; });
}

}  // namespace

Result<std::size_t> DumpedMemory::read_some(Address address, std::span<std::byte> out) const {
  std::size_t done = 0;
  auto s = at_or_above(file_.segments(), address);
  // Neighbouring segments are read through: a structure may lie across two mappings.
  while (done < out.size() && s != file_.segments().end() && s->range.contains(address + done)) {
    const std::uint64_t inside = address + done - s->range.begin;
    if (inside >= s->dumped) break;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(s->dumped - inside, out.size() - done));
    const auto n = file_.bytes().read_at(s->file_offset + inside, out.subspan(done, wanted));
    if (!n && done == 0) return fail(n.error());
    if (!n || *n == 0) break;
    done += *n;
    if (*n < wanted || inside + wanted < s->range.size()) break;
    ++s;
  }
  if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
  return done;
}

Address DumpedMemory::next_dumped(Address address, Address end) const {
  for (auto s = at_or_above(file_.segments(), address); s != file_.segments().end() && s->range.begin < end; ++s)
    if (s->dumped != 0 && address < s->range.begin + s->dumped) return std::max(address, s->range.begin);
  return end;
}

}  // namespace mixstack::process
