#include "features/record/outer_frames.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mixstack::record {
namespace {

/// How many bytes at the end of both are the same; a multiple of 8.
std::size_t same_at_end(std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t most = std::min(a.size(), b.size()) & ~std::size_t{7};
  std::size_t same = 0;
  for (std::size_t step : {kBlock, std::size_t{8}})
    while (same + step <= most &&
           std::memcmp(a.data() + a.size() - same - step, b.data() + b.size() - same - step, step) == 0)
      same += step;
  return same;
}

}  // namespace

bool OuterFrames::read(const MemoryReader& memory, Address from, Address end, std::uint64_t now_ns) {
  if (end <= from || end - from > kMostBytes) return false;
  std::vector<std::byte> bytes(end - from);
  if (!memory.read_exact(from, bytes)) return false;
  const bool is_same_stack = base_ + bytes_.size() == end;
  const Address same_from = is_same_stack ? end - same_at_end(bytes_, bytes) : end;
  const auto kept =
      std::find_if(frames_.begin(), frames_.end(), [&](const Frame& frame) { return frame.sp >= same_from; });
  if (kept != frames_.begin()) {
    const auto count = static_cast<std::size_t>(kept - frames_.begin());
    frames_.erase(frames_.begin(), kept);
    for (auto& [left_out, nodes] : nodes_)
      nodes.erase(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, nodes.size())));
  }
  base_ = from;
  bytes_ = std::move(bytes);
  read_ns_ = now_ns;
  return true;
}

bool OuterFrames::is_of(std::uint64_t time_ns, Address from) const {
  return read_ns_ >= time_ns && !bytes_.empty() && base_ <= from;
}

bool OuterFrames::goes_on_from(const MemorySlice& copy, Address from) const {
  const Address end = copy.base + copy.bytes.size();
  if (from < copy.base || from < base_ || from >= end || end - base_ > bytes_.size()) return false;
  return std::memcmp(copy.bytes.data() + (from - copy.base), bytes_.data() + (from - base_), end - from) == 0;
}

std::vector<std::byte> OuterFrames::whole(const MemorySlice& copy) const {
  // A copy of many bytes may reach beyond the stack, into what is mapped above it.
  const Address end = copy.base + copy.bytes.size();
  const bool goes_on = end >= base_ && end - base_ <= bytes_.size();
  const auto beyond = goes_on ? std::span(bytes_).subspan(end - base_) : std::span<const std::byte>();
  std::vector<std::byte> all;
  all.reserve(copy.bytes.size() + beyond.size());
  all.insert(all.end(), copy.bytes.begin(), copy.bytes.end());
  all.insert(all.end(), beyond.begin(), beyond.end());
  return all;
}

void OuterFrames::learn(std::vector<Frame> frames, StopReason stop) {
  // A signal handler's alternate stack may lie at any address.
  const auto last_step_down = std::adjacent_find(
      frames.rbegin(), frames.rend(), [](const Frame& outer, const Frame& inner) { return inner.sp > outer.sp; });
  if (last_step_down != frames.rend()) frames.erase(frames.begin(), last_step_down.base() - 1);
  const auto same = std::mismatch(frames.rbegin(), frames.rend(), frames_.rbegin(), frames_.rend(),
                                  [](const Frame& a, const Frame& b) { return a.sp == b.sp && a.pc == b.pc; });
  const auto matched = static_cast<std::size_t>(same.first - frames.rbegin());
  older_ = learned_ns_ == read_ns_ ? std::min(older_, matched) : matched;
  if (learned_ns_ != read_ns_) older_ns_ = learned_ns_;
  frames_ = std::move(frames);
  stop_ = stop;
  learned_ns_ = read_ns_;
  nodes_.clear();
}

void OuterFrames::forget() { learn({}, StopReason::end_of_stack); }

std::optional<std::size_t> OuterFrames::find(const Frame& frame) const {
  const auto at = std::partition_point(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.sp < frame.sp; });
  for (auto f = at; f != frames_.end() && f->sp == frame.sp; ++f)
    if (f->pc == frame.pc && f->kind == frame.kind) return static_cast<std::size_t>(f - frames_.begin());
  return std::nullopt;
}

std::optional<std::size_t> OuterFrames::first_above(Address above, std::uint64_t before_ns) const {
  std::size_t known = older_ns_ < before_ns ? std::min(older_, frames_.size()) : 0;
  if (learned_ns_ < before_ns) known = frames_.size();
  const auto at = std::partition_point(frames_.end() - static_cast<std::ptrdiff_t>(known), frames_.end(),
                                       [&](const Frame& f) { return f.sp < above; });
  if (at == frames_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - frames_.begin());
}

std::vector<std::uint32_t>& OuterFrames::nodes(std::size_t left_out) {
  if (nodes_.size() >= kMostFolds && !nodes_.contains(left_out)) nodes_.clear();
  auto& nodes = nodes_[left_out];
  nodes.resize(frames_.size());
  return nodes;
}

OuterFrames& OuterFramesOfThreads::of(ThreadId tid) {
  const auto known = threads_.find(tid);
  if (known != threads_.end()) return known->second;
  std::size_t bytes = 0;
  for (const auto& [id, thread] : threads_) bytes += thread.size();
  if (threads_.size() >= kMostThreads || bytes >= kMostBytes) threads_.clear();
  return threads_[tid];
}

bool OuterFramesOfThreads::may_walk(std::uint64_t now_ns) {
  const std::uint64_t passed = budget_from_ns_ == 0 ? 0 : now_ns - std::min(now_ns, budget_from_ns_);
  const auto more = static_cast<std::int64_t>(std::min<std::uint64_t>(passed, 1'000'000'000)) / kShare;
  budget_ns_ = std::min(kMostBudget, budget_ns_ + more);
  budget_from_ns_ = now_ns;
  return budget_ns_ > 0;
}

Address stack_end_of(std::span<const Region> regions, Address address) {
  auto at = std::partition_point(regions.begin(), regions.end(),
                                 [&](const Region& region) { return region.range.end <= address; });
  if (at == regions.end() || !at->range.contains(address) || !at->readable || !at->writable) return 0;
  Address end = at->range.end;
  for (++at; at != regions.end() && at->range.begin == end && at->readable && at->writable; ++at) end = at->range.end;
  return end;
}

}  // namespace mixstack::record
