// Walks the threads of one capture.
//
// Input: a Capture (registers, copied stacks, the runtimes' Threads), its mappings, a Worker (caches target memory).
// Output: for each thread a ThreadDump, a Trace or code addresses; diagnoses beside them.
// Algorithm: capture_walk.cc has put the steppers in order, and written hijacked return addresses back into the copied
// stacks. For each thread: read the runtime's explicit Frames, which lead over code that cannot be unwound; walk; judge
// the stop reason from the last frame; confirm generic contexts. A sampled stack is older than the runtime's records:
// it is walked without them, and if that walk is in doubt, once more with those that its copied bytes prove.
// Bounds: WalkOptions::max_frames; dotnet::kMaxFrames explicit Frames of a thread or, after bound_explicit_frames, its
// kUsualExplicitFrames and what is left of the common rest; two tries for a sample, each walked again when mended.
#include <algorithm>

#include "engine/symbols/demangle.h"
#include "session/capture_walk.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kUsualExplicitFrames = 1024;  // of one thread

/// The readable memory around an address, up to the first unreadable page (a guard page). `regions` by address.
AddressRange readable_run(std::span<const Region> regions, Address address) {
  const auto at =
      std::partition_point(regions.begin(), regions.end(), [&](const Region& r) { return r.range.end <= address; });
  if (at == regions.end() || !at->readable || !at->range.contains(address)) return {};
  AddressRange run = at->range;
  for (auto next = at + 1; next != regions.end() && next->readable && next->range.begin == run.end; ++next)
    run.end = next->range.end;
  for (auto last = at; last != regions.begin() && (last - 1)->readable && (last - 1)->range.end == run.begin; --last)
    run.begin = (last - 1)->range.begin;
  return run;
}

/// A fiber or coroutine runs on a stack that the runtime does not know, and pushes its Frames there. Those count for
/// this stack (`around` its sp), up to where the list goes on to the thread's own stack.
void read_on_other_stack(dotnet::CheckpointList& list, const dotnet::ManagedThread& managed,
                         dotnet::ManagedRuntime& runtime, const AddressRange& around, bool methods) {
  const bool is_elsewhere = !managed.stack.empty() && !managed.stack.contains(around.begin) &&
                            !around.contains(managed.stack.begin) && around.contains(managed.frame);
  if (!is_elsewhere) return;
  dotnet::ManagedThread there = managed;
  there.stack = around;
  dotnet::CheckpointList other = runtime.checkpoints(there, methods, kUsualExplicitFrames);
  const bool goes_on = other.error.code == ErrorCode::malformed && managed.stack.contains(other.error.value);
  if (!goes_on && other.error.code != ErrorCode::none) return;
  list = std::move(other);
  list.error = {};
}

/// A stack that is cut by the end of its copy is not in doubt: the frames found are as sure as others.
bool is_in_doubt(const Trace& trace) {
  if (trace.stop != StopReason::end_of_stack && trace.stop != StopReason::stack_truncated) return true;
  return std::any_of(trace.frames.begin(), trace.frames.end(),
                     [](const Frame& frame) { return frame.trust >= Trust::frame_pointer; });
}

}  // namespace

/// The runtime's record of a thread's stack may be damaged, and then hold the Frames of another thread. The stack ends
/// where the memory around the captured sp does.
dotnet::ManagedThread CaptureWalk::with_checked_stack(dotnet::ManagedThread managed, Address sp) const {
  const bool is_known = !managed.stack.empty();
  if (is_known && !managed.stack.contains(sp)) return managed;  // a handler's own stack
  const AddressRange around = readable_run(regions_, sp);
  if (around.empty()) return managed;
  if (!is_known) managed.stack.begin = around.begin;
  managed.stack.end = is_known ? std::min(managed.stack.end, around.end) : around.end;
  return managed;
}

dotnet::CheckpointList CaptureWalk::checkpoints_of(const ThreadCapture& thread) {
  return checkpoints_of(thread, owner_of(thread), options_.explicit_frames);
}

dotnet::CheckpointList CaptureWalk::checkpoints_of(const ThreadCapture& thread, const Owner& owner,
                                                   bool methods) const {
  if (owner.thread == nullptr || is_sampled()) return {};
  const Address sp = thread.registers.sp();
  const dotnet::ManagedThread managed = with_checked_stack(*owner.thread, sp);
  auto list = owner.runtime->checkpoints(managed, methods);
  dotnet::forget_dead_places(list, managed, sp);
  return list;
}

ThreadDump CaptureWalk::walk(const ThreadCapture& thread, std::uint32_t most_frames, walk::Advisor* advisor) {
  ThreadDump dump;
  dump.tid = thread.tid;
  dump.ns_tid = thread.ns_tid;
  dump.comm = symbols::printable(thread.comm);
  dump.kernel_state = thread.kernel_state;
  dump.syscall = thread.syscall;
  dump.captured = thread.captured;
  dump.late = thread.late;
  dump.capture_error = thread.error;
  dump.registers = thread.registers;
  dump.vectors = thread.vectors;
  dump.trace.tid = thread.tid;
  if (!thread.captured) {
    dump.trace.stop = StopReason::not_captured;
    dump.trace.stop_error = thread.error;
    return dump;
  }
  const Owner owner = owner_of(thread);
  if (owner.thread != nullptr) dump.managed = owner.runtime->facts(*owner.thread);
  dump.trace = trace_of(thread, most_frames, owner, advisor);
  return dump;
}

Trace CaptureWalk::trace(const ThreadCapture& thread) {
  if (thread.captured) return trace_of(thread, UINT32_MAX, owner_of(thread), nullptr);
  Trace trace;
  trace.tid = thread.tid;
  trace.stop = StopReason::not_captured;
  trace.stop_error = thread.error;
  return trace;
}

Trace CaptureWalk::trace_of(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                            walk::Advisor* advisor) {
  Trace trace = unconfirmed_trace_of(thread, most_frames, owner, advisor);
  confirm(trace.frames, thread);
  return trace;
}

void CaptureWalk::confirm(std::span<Frame> frames, const ThreadCapture& thread) {
  for (const auto& runtime : runtimes_) runtime->confirm_generic_contexts(frames, thread.taken_ns);
}

Trace CaptureWalk::unconfirmed_trace_of(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                                        walk::Advisor* advisor) {
  if (is_sampled()) return walk_sampled(thread, most_frames, owner, advisor);
  if (owner.thread != nullptr) {
    Trace trace = walk_managed(thread, most_frames, owner, advisor);
    judge_stop(trace);
    return trace;
  }
  walk::ThreadInput input = input_for(thread);
  input.max_frames = most_frames;
  Trace trace = walker_->walk(input, advisor);
  judge_stop(trace);
  return trace;
}

/// The stack is older than the runtime's records of its thread. Explicit Frames are read only if the walk without them
/// is stuck or in doubt, and count only if the copied bytes prove them.
Trace CaptureWalk::walk_sampled(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                                walk::Advisor* advisor) {
  walk::ThreadInput input = input_for(thread);
  input.max_frames = most_frames;
  Trace trace = walk_copied(thread, input, owner, advisor);
  if (owner.thread == nullptr || !is_in_doubt(trace)) return trace;
  const Address sp = thread.registers.sp();
  const dotnet::ManagedThread managed = with_checked_stack(*owner.thread, sp);
  dotnet::CheckpointList list = owner.runtime->sampled_checkpoints(managed, thread.stack, sp, options_.explicit_frames);
  dotnet::forget_dead_places(list, managed, sp);
  if (list.checkpoints.empty()) return trace;
  input = input_for(thread);
  input.max_frames = most_frames;
  input.checkpoints = list.checkpoints;
  Trace again = walk_copied(thread, input, owner, advisor);
  return is_in_doubt(again) && again.frames.size() < trace.frames.size() ? trace : again;
}

/// If a suspension has replaced a return address, the runtime may still know the true one.
Trace CaptureWalk::walk_copied(const ThreadCapture& thread, walk::ThreadInput& input, const Owner& owner,
                               walk::Advisor* advisor) {
  Trace trace = walker_->walk(input, advisor);
  judge_stop(trace);
  const std::size_t at = replaced_returns_.find(trace);
  if (at == 0) return trace;
  const auto last = owner.thread != nullptr ? owner.runtime->last_hijack(*owner.thread) : std::nullopt;
  const auto mended = last ? put_back(thread, trace, at, *last) : std::nullopt;
  if (!mended) {
    leave_out(trace, at);
    return trace;
  }
  input.stack.data = mended->data();
  trace = walker_->walk(input, advisor);
  judge_stop(trace);
  if (at < trace.frames.size()) trace.frames[at].trust = std::max(trace.frames[at].trust, Trust::inferred);
  return trace;
}

AddressTrace CaptureWalk::addresses(const ThreadCapture& thread, std::span<CodeAddress> out) {
  if (!thread.captured) return {0, StopReason::not_captured, thread.error};
  if (const auto plain = plain_addresses(thread, out))
    return {plain->count, plain->is_cut ? StopReason::max_frames : StopReason::end_of_stack, {}};
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), UINT32_MAX));
  const Trace whole = trace_of(thread, most, owner_of(thread), nullptr);
  AddressTrace found{0, whole.stop, whole.stop_error};
  for (const Frame& f : whole.frames)
    if (f.kind != FrameKind::runtime_frame && found.count < out.size()) out[found.count++] = f.pc;
  return found;
}

std::optional<walk::PlainWalk> CaptureWalk::plain_addresses(const ThreadCapture& thread, std::span<CodeAddress> out) {
  // The engine holds the rules of one runtime only, and the caller's steppers may decide any frame differently.
  if (!thread.captured || !users_.empty() || runtimes_.size() > 1) return std::nullopt;
  const StackView stack = view_of(thread);
  marks_.clear();
  if (!is_sampled()) {
    const Owner owner = owner_of(thread);
    if (owner.thread != nullptr && !owner.runtime->marks(*owner.thread, stack, thread.registers.sp(), marks_))
      return std::nullopt;
  }
  const auto plain = walk::plain_addresses(native_.engine(), thread.registers, stack, marks_, out);
  if (plain && is_sampled() && replaced_returns_.may_be_in(out.first(plain->count))) return std::nullopt;
  return plain;
}

Trace CaptureWalk::walk_managed(const ThreadCapture& thread, std::uint32_t most_frames, const Owner& owner,
                                walk::Advisor* advisor) {
  const dotnet::ManagedThread managed = with_checked_stack(*owner.thread, thread.registers.sp());
  const std::size_t most = explicit_left_ ? kUsualExplicitFrames + *explicit_left_ : dotnet::kMaxFrames;
  dotnet::CheckpointList list =
      owner.runtime->checkpoints(managed, options_.explicit_frames, std::min(most, dotnet::kMaxFrames));
  if (list.error.code == ErrorCode::malformed)
    read_on_other_stack(list, managed, *owner.runtime, readable_run(regions_, thread.registers.sp()),
                        options_.explicit_frames);
  if (explicit_left_ && list.checkpoints.size() > kUsualExplicitFrames)
    *explicit_left_ -= std::min(*explicit_left_, list.checkpoints.size() - kUsualExplicitFrames);
  dotnet::forget_dead_places(list, managed, thread.registers.sp());
  walk::ThreadInput input = input_for(thread);
  input.checkpoints = list.checkpoints;
  input.max_frames = most_frames;
  Trace trace = walker_->walk(input, advisor);
  if (list.error.code != ErrorCode::none) {
    diagnoses_.push_back({list.error, "explicit Frames of thread " + std::to_string(thread.tid), {}});
    if (trace.stop == StopReason::end_of_stack) return trace;
    trace.stop = StopReason::malformed_frame_list;
    trace.stop_error = list.error;
  }
  return trace;
}

}  // namespace mixstack::session
