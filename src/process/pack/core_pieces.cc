#include "process/pack/core_pieces.h"

#include <fcntl.h>

#include <algorithm>

#include "base/memory/page_map.h"
#include "process/kernel/memory_map.h"
#include "process/live/proc_dir.h"

namespace mixstack::pack {
namespace {

using State = memory::PageMap::State;

[[nodiscard]] bool is_of_a_file(std::span<const Region> regions, Address address) {
  const Region* r = process::find_region(regions, address);
  return r != nullptr && r->path.starts_with('/') && !r->writable && !r->shared;
}

/// JIT code lies in a memfd that .NET maps twice; other shared memory may belong to other programs.
[[nodiscard]] bool is_wanted(const Region& r) {
  if (!r.readable) return false;
  if (r.shared) return r.path.starts_with("/memfd:doublemapper");
  return r.writable || !r.path.starts_with('/');
}

void add(std::vector<AddressRange>& ranges, AddressRange more) {
  if (!ranges.empty() && ranges.back().end == more.begin) {
    ranges.back().end = more.end;
  } else {
    ranges.push_back(more);
  }
}

}  // namespace

RecordedPieces::RecordedPieces(MemoryImage image, std::span<const Region> regions) {
  image.for_each_run([&](Address address, std::span<std::byte> bytes) {
    const bool is_public = is_of_a_file(regions, address);  // runs lie in one page each, so in one mapping
    if (runs_.empty() || runs_.back().end() != address || runs_.back().is_public != is_public)
      runs_.push_back({address, {}, is_public});
    runs_.back().bytes.insert(runs_.back().bytes.end(), bytes.begin(), bytes.end());
  });
}

std::vector<CorePiece> RecordedPieces::pieces() const {
  std::vector<CorePiece> all;
  all.reserve(runs_.size());
  for (const Run& run : runs_) all.push_back({{run.begin, run.end()}, run.bytes, run.is_public});
  return all;
}

std::vector<CorePiece> with_ranges(const std::vector<CorePiece>& pieces, const std::vector<AddressRange>& ranges,
                                   AddressRange hole) {
  std::vector<AddressRange> taken;
  for (const CorePiece& piece : pieces) taken.push_back(piece.range);
  if (!hole.empty()) taken.push_back(hole);
  std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<CorePiece> all = pieces;
  auto next = taken.begin();
  for (AddressRange left : ranges) {
    while (next != taken.end() && next->end <= left.begin) ++next;
    for (auto t = next; t != taken.end() && t->begin < left.end && !left.empty(); ++t) {
      if (t->begin > left.begin) all.push_back({{left.begin, t->begin}, {}});
      left.begin = std::min(std::max(left.begin, t->end), left.end);
    }
    if (!left.empty()) all.push_back({left, {}});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  return all;
}

PresentMemory present_memory(std::uint32_t pid, std::span<const Region> regions) {
  PresentMemory memory;
  const auto proc = process::ProcDir::open(pid);
  if (!proc) return memory;
  auto file = proc->open_memory_file("pagemap", O_RDONLY);
  const memory::PageMap pages(file ? std::move(*file) : base::ScopedFd());
  for (const Region& r : regions) {
    if (!is_wanted(r) || r.path == "[vvar]" || r.path == "[vsyscall]") continue;
    for (Address at = r.range.begin; at < r.range.end;) {
      const auto run = pages.run({at, r.range.end});
      if (run.end <= at) break;
      if (run.state == State::present || run.state == State::shared) add(memory.ranges, {at, run.end});
      if (run.state == State::swapped) memory.swapped += run.end - at;
      if (run.state == State::unknown) memory.unknown += run.end - at;
      at = run.end;
    }
  }
  return memory;
}

std::vector<AddressRange> dumped_ranges(const process::CoreFile& core) {
  std::vector<AddressRange> ranges;
  for (const process::CoreSegment& s : core.segments())
    if (s.dumped != 0) ranges.push_back({s.range.begin, s.range.begin + std::min(s.dumped, s.range.size())});
  return ranges;
}

}  // namespace mixstack::pack
