#include "base/memory/page_map.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

namespace mixstack::memory {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kShared = std::uint64_t{1} << 61;
constexpr std::uint64_t kLeastLookUp = 32;   // pages
constexpr std::size_t kMostChunks = 16'384;  // 3 MB of bits

// include/uapi/linux/fs.h, since Linux 6.7.
struct ScanArguments {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct ScannedRun {
  std::uint64_t start, end, categories;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t kIsFile = 1 << 2, kIsPresent = 1 << 3;
constexpr std::size_t kScannedRuns = 256;  // a system call
constexpr unsigned kMostScans = 256;

[[nodiscard]] PageMap::State state_of(std::uint64_t entry) {
  if ((entry & kPresent) != 0) return (entry & kShared) != 0 ? PageMap::State::shared : PageMap::State::present;
  return (entry & kSwapped) != 0 ? PageMap::State::swapped : PageMap::State::absent;
}

[[nodiscard]] bool has_bit(std::span<const std::uint64_t> bits, std::uint64_t index) {
  return (bits[index / 64] >> (index % 64) & 1) != 0;
}

}  // namespace

/// The run of pages seen before, all in one state; empty if the first was not seen.
PageMap::Run PageMap::seen_pages(std::uint64_t first, std::uint64_t limit) const {
  const std::lock_guard lock(mutex_);
  Run run{State::absent, first};
  for (bool same = true; same && run.end < limit;) {
    const auto chunk = seen_.find(run.end / kChunkPages);
    if (chunk == seen_.end()) break;
    const std::uint64_t end = std::min(limit, (run.end / kChunkPages + 1) * kChunkPages);
    while (run.end < end) {
      const std::uint64_t index = run.end % kChunkPages;
      const State state = has_bit(chunk->second.shared, index) ? State::shared : State::present;
      same = has_bit(chunk->second.seen, index) && (run.end == first || state == run.state);
      if (!same) break;
      run.state = state;
      run.end++;
    }
  }
  return run;
}

PageMap::Run PageMap::look_up(std::uint64_t first, std::uint64_t limit) const {
  std::array<std::uint64_t, kChunkPages> entries;
  // Neighbouring pages are usually asked for next: a few more words cost less than another system call.
  const std::uint64_t wanted = std::clamp<std::uint64_t>(limit - first, kLeastLookUp, entries.size());
  const auto bytes = std::as_writable_bytes(std::span(entries).first(static_cast<std::size_t>(wanted)));
  ssize_t n = 0;
  do n = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(first * sizeof(std::uint64_t)));
  while (n < 0 && errno == EINTR);
  // Nothing to read: the addresses are not user space, or the process has lost its memory.
  if (n < static_cast<ssize_t>(sizeof(std::uint64_t))) return {State::absent, limit * page_size_};
  const auto known = static_cast<std::size_t>(n) / sizeof(std::uint64_t);
  const State state = state_of(entries[0]);
  std::size_t same = 1;
  while (same < std::min<std::uint64_t>(known, limit - first) && state_of(entries[same]) == state) same++;
  remember(first, std::span(entries).first(known));
  return {state, (first + same) * page_size_};
}

void PageMap::remember(std::uint64_t first, std::span<const std::uint64_t> entries) const {
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostChunks) seen_.clear();
  Chunk* chunk = nullptr;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < entries.size(); i++) {
    const std::uint64_t page = first + i;
    const State state = state_of(entries[i]);
    if (state != State::present && state != State::shared) continue;
    if (chunk == nullptr || number != page / kChunkPages) chunk = &seen_[number = page / kChunkPages];
    const std::uint64_t index = page % kChunkPages, bit = std::uint64_t{1} << (page % 64);
    chunk->seen[index / 64] |= bit;
    if (state == State::shared) chunk->shared[index / 64] |= bit;
  }
}

void PageMap::remember(std::uint64_t first, std::uint64_t end, State state) const {
  for (std::uint64_t page = first; page < end;) {
    if (seen_.size() >= kMostChunks) seen_.clear();
    Chunk& chunk = seen_[page / kChunkPages];
    const std::uint64_t chunk_end = std::min(end, (page / kChunkPages + 1) * kChunkPages);
    for (; page < chunk_end; page++) {
      const std::uint64_t index = page % kChunkPages, bit = std::uint64_t{1} << (page % 64);
      chunk.seen[index / 64] |= bit;
      if (state == State::shared) chunk.shared[index / 64] |= bit;
    }
  }
}

bool PageMap::scan(AddressRange range) const {
  if (!file_) return false;
  std::array<ScannedRun, kScannedRuns> runs;
  ScanArguments a{};
  a.size = sizeof(a);
  a.start = range.begin / page_size_ * page_size_;
  a.end = (range.end + page_size_ - 1) / page_size_ * page_size_;
  a.vec = reinterpret_cast<std::uint64_t>(runs.data());
  a.vec_len = runs.size();
  a.category_mask = kIsPresent;
  a.return_mask = kIsPresent | kIsFile;
  for (unsigned n = 0; n < kMostScans && a.start < a.end; n++) {
    // Not ioctl(): C libraries differ in the type of a request.
    const auto found = ::syscall(SYS_ioctl, file_.get(), kScan, &a);
    if (found < 0) return n != 0;
    const std::lock_guard lock(mutex_);
    for (const ScannedRun& r : std::span(runs).first(static_cast<std::size_t>(found)))
      remember(r.start / page_size_, r.end / page_size_,
               (r.categories & kIsFile) != 0 ? State::shared : State::present);
    if (a.walk_end <= a.start) break;
    a.start = a.walk_end;
  }
  return true;
}

PageMap::Run PageMap::run(AddressRange range) const {
  if (!file_) return {State::unknown, range.end};
  const std::uint64_t first = range.begin / page_size_;
  const std::uint64_t limit = (range.end - 1) / page_size_ + 1;
  if (const Run seen = seen_pages(first, limit); seen.end > first)
    return {seen.state, std::min(range.end, seen.end * page_size_)};
  Run found = look_up(first, limit);
  found.end = std::min(found.end, range.end);
  return found;
}

void PageMap::forget() {
  const std::lock_guard lock(mutex_);
  seen_.clear();
}

}  // namespace mixstack::memory
