// The outer part of a sampled stack, beyond its copy.
#include <algorithm>
#include <utility>

#include "base/words/stack_depth.h"
#include "features/record/stack_recorder.h"

namespace mixstack::record {
namespace {

constexpr std::size_t kReadAhead = 32 << 10;  // below a sample, for the samples of the next moments
constexpr std::size_t kRootFrames = 64;
constexpr std::uint64_t kRegionsLife = 200'000'000;  // ns

}  // namespace

/// The walker's mappings may be up to a second old, and the thread younger: then they are read again.
Address StackRecorder::stack_end(Address sp) {
  const auto& known = walker_->regions();
  if (const Address end = known ? stack_end_of(*known, sp) : 0; end != 0) return end;
  const std::uint64_t now = monotonic_ns();
  if (regions_ns_ == 0 || now - regions_ns_ >= kRegionsLife) {
    regions_ns_ = now;
    const std::lock_guard lock(session_.mutex);
    auto read = session_.session->target().regions();
    regions_ = read ? std::move(*read) : std::vector<Region>();
  }
  return stack_end_of(regions_, sp);
}

/// Reads the memory once for all samples taken before.
bool StackRecorder::read_deep(OuterFrames& deep, const ThreadCapture& capture, Address from, Taken taken) {
  if (deep.is_of(taken.until_ns, from)) return true;
  const Address begin = std::max(capture.stack.base, from - std::min<Address>(from, kReadAhead));
  const std::uint64_t now = monotonic_ns();
  if (!deep.read(session_.session->target().memory(), begin, stack_end(from), now)) {
    deep.forget();
    return false;
  }
  const bool is_replaced = std::any_of(deep.frames().begin(), deep.frames().end(), [&](const Frame& frame) {
    return walker_.changes().touch(frame.pc.lookup(), taken.from_ns, now);
  });
  if (!walker_.changes().empty() && is_replaced) deep.forget();
  return true;
}

/// Walks the whole stack; returns the index of `last` among its frames.
std::optional<std::size_t> StackRecorder::walk_deep(OuterFrames& deep, const ThreadCapture& capture,
                                                    const Frame& last) {
  const std::uint64_t begin = monotonic_ns();
  if (!outer_frames_.may_walk(begin)) return std::nullopt;
  const std::vector<std::byte> bytes = deep.whole(capture.stack);
  ThreadCapture whole = capture;
  whole.stack.bytes = bytes;
  whole.stack_truncated = false;
  Trace trace = walker_->walk(whole);
  deep.learn(std::move(trace.frames), trace.stop);
  outer_frames_.spent(monotonic_ns() - begin);
  return deep.find(last);
}

/// Learns the outermost frames from memory newer than the copy, which does not continue it. A walk that reaches the
/// thread's start by unwind information all the way has found frames of the present stack, and the outermost ones stay
/// longest.
void StackRecorder::learn_root(OuterFrames& deep, const ThreadCapture& capture) {
  const std::uint64_t begin = monotonic_ns();
  if (!outer_frames_.may_walk(begin)) return;
  const std::vector<std::byte> bytes = deep.whole(capture.stack);
  ThreadCapture whole = capture;
  whole.stack.bytes = bytes;
  whole.stack_truncated = false;
  Trace trace = walker_->walk(whole);
  const bool is_sure = trace.stop == StopReason::end_of_stack && trace.frames.back().trust == Trust::certain;
  const std::size_t kept = std::min(trace.frames.size() / 2, kRootFrames);
  if (is_sure) {
    trace.frames.erase(trace.frames.begin(), trace.frames.end() - static_cast<std::ptrdiff_t>(kept));
    deep.learn(std::move(trace.frames), trace.stop);
  }
  outer_frames_.spent(monotonic_ns() - begin);
}

/// Continues a walk that reached the end of the copy. Nothing: the remainder is not known.
std::optional<StackRecorder::Outer> StackRecorder::outer_of(const ThreadCapture& capture, const Trace& trace,
                                                            Taken taken) {
  if (trace.frames.empty() || !capture.stack.range().contains(trace.frames.back().sp)) return std::nullopt;
  const Frame& last = trace.frames.back();
  OuterFrames& deep = outer_frames_.of(capture.tid);
  const Address from = std::max(capture.stack.base, last.sp - std::min<Address>(last.sp, OuterFrames::kCompared));
  if (!read_deep(deep, capture, from, taken)) return std::nullopt;
  if (deep.goes_on_from(capture.stack, from)) {
    auto index = deep.find(last);
    if (!index) index = walk_deep(deep, capture, last);
    if (index) {
      // The frames that the last one called are in the sample itself.
      const auto node = deep_node(deep, *index + 1, trace.frames.size());
      return node ? std::optional(Outer{*node, trace.frames.size(), deep.stop()}) : std::nullopt;
    }
  }
  // The stack has moved. Outer frames that have not changed were there all the time; if none are known yet, learn them
  // for later samples.
  if (deep.frames().empty()) learn_root(deep, capture);
  const auto above = deep.first_above(capture.stack.range().end, taken.from_ns);
  const auto root =
      above && deep.stop() == StopReason::end_of_stack ? deep_node(deep, *above, trace.frames.size()) : std::nullopt;
  const auto node = root ? box_node(*root, "[stack deeper than its copy]") : std::nullopt;
  return node ? std::optional(Outer{*node, trace.frames.size()}) : std::nullopt;
}

/// The node of frame `index` of the whole stack, below all frames outside of it. It called `inner` frames of the
/// sample. 0: the root.
std::optional<std::uint32_t> StackRecorder::deep_node(OuterFrames& deep, std::size_t index, std::size_t inner) {
  const std::vector<Frame>& frames = deep.frames();
  const std::size_t left_out = frames_left_out(frames.size() - index + inner);
  std::vector<std::uint32_t>& nodes = deep.nodes(left_out);
  std::size_t known = index;
  while (known < frames.size() && nodes[known] == 0) known++;
  std::uint32_t node = known < frames.size() ? nodes[known] : 0;
  bool lasts = true;
  for (std::size_t i = known; i-- > index; nodes[i] = node) {
    const std::size_t rank = frames.size() - 1 - i;
    if (rank > kOuterShown && rank < kOuterShown + left_out) continue;
    const bool begins_gap = rank == kOuterShown && left_out != 0;
    const auto next = begins_gap ? folded_node(left_out, node) : frame_node(node, frames, i, lasts);
    if (!next) return std::nullopt;
    node = *next;
  }
  return node;
}

}  // namespace mixstack::record
