#include "engine/walk/chain_walker.h"

#include <algorithm>

#include "engine/walk/walk_in_progress.h"

namespace mixstack::walk {
namespace {

Frame frame_of(const Checkpoint& c) {
  Frame f{.pc = CodeAddress::exact(c.context.pc()),
          .sp = c.address,
          .kind = FrameKind::runtime_frame,
          .found_by = StepperId::explicit_frame};
  f.method = c.method;
  f.explicit_frame = c.address;
  f.frame_identifier = c.identifier;
  return f;
}

/// The stacks of a trace, one after the other: a signal handler's stack may lie anywhere.
class StacksOf {
 public:
  explicit StacksOf(const std::vector<Frame>& frames) {
    for (std::size_t i = 0; i < frames.size(); i++) {
      if (i == 0 || frames[i].sp < frames[i - 1].sp) lowest_.push_back(frames[i].sp);
      stack_of_.push_back(lowest_.size() - 1);
    }
  }
  [[nodiscard]] std::size_t of_frame(std::size_t index) const { return stack_of_[index]; }
  /// The stack that begins nearest below an address; the last one if none does.
  [[nodiscard]] std::size_t of_address(Address address) const {
    std::size_t best = lowest_.size() - 1;
    Address nearest = 0;
    for (std::size_t i = 0; i < lowest_.size(); i++)
      if (lowest_[i] <= address && lowest_[i] >= nearest) nearest = lowest_[best = i];
    return best;
  }

 private:
  std::vector<Address> lowest_;
  std::vector<std::size_t> stack_of_;
};

/// Inserts the explicit Frames in stack order: before the frame whose context they hold, else by address.
void merge_checkpoints(Trace& trace, std::span<const Checkpoint> checkpoints) {
  const StacksOf stacks(trace.frames);
  std::vector<Frame> merged;
  merged.reserve(trace.frames.size() + checkpoints.size());
  std::vector<std::uint32_t> moved_to(trace.frames.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.frames.size(); i++) {
    const Frame& f = trace.frames[i];
    const auto lies_before = [&](const Checkpoint& c) {
      const Address place = c.resumes ? c.context.sp() : c.address;
      const std::size_t theirs = stacks.of_address(place), ours = stacks.of_frame(i);
      return theirs == ours ? (c.resumes ? place <= f.sp : place < f.sp) : theirs < ours;
    };
    while (next < checkpoints.size() && lies_before(checkpoints[next])) merged.push_back(frame_of(checkpoints[next++]));
    moved_to[i] = static_cast<std::uint32_t>(merged.size());
    merged.push_back(f);
  }
  while (next < checkpoints.size()) merged.push_back(frame_of(checkpoints[next++]));
  for (Evidence& e : trace.evidence)
    if (e.frame < moved_to.size()) e.frame = moved_to[e.frame];
  trace.frames = std::move(merged);
}

ThreadInput without_checkpoints(const Cursor& cursor, const ThreadInput& thread) {
  return {thread.tid, cursor.registers, thread.stack, thread.stack_range, thread.stack_truncated,
          {},         thread.max_frames};
}

}  // namespace

FrameStepper* claim_among_users(const Steppers& steppers, Cursor& cursor, const ThreadInput& thread) {
  const Frame before = cursor.frame;
  Frame declined = before;
  declined.kind = FrameKind::undescribed;
  FrameStepper* decliner = nullptr;
  for (FrameStepper* s : steppers.owners) {
    if (!s->claim(cursor.frame)) continue;
    if (std::find(steppers.users.begin(), steppers.users.end(), s) == steppers.users.end()) return s;
    Cursor probe = cursor;
    if (s->step(probe, thread).status != StepStatus::not_mine) return s;
    if (decliner == nullptr) declined = cursor.frame;
    if (decliner == nullptr) decliner = s;
    cursor.frame = before;
  }
  cursor.frame = declined;
  return decliner;
}

std::unique_ptr<WalkInProgress> ChainWalker::begin(const ThreadInput& thread) const {
  return std::make_unique<WalkInProgress>(steppers_, limits_, thread);
}

Cursor ChainWalker::initial(const ThreadInput& thread) const {
  Cursor cursor;
  cursor.registers = thread.registers;
  cursor.frame = Frame{
      .pc = CodeAddress::exact(thread.registers.pc()), .sp = thread.registers.sp(), .found_by = StepperId::initial};
  cursor.frame.is_interrupted = true;
  (void)claim_frame(steppers_, cursor, thread);
  return cursor;
}

StepOutcome ChainWalker::step(Cursor& cursor, const ThreadInput& thread, Advisor* advisor) const {
  const ThreadInput alone = without_checkpoints(cursor, thread);
  return WalkInProgress(steppers_, limits_, alone, advisor).step_from(cursor);
}

StepOutcome ChainWalker::step_by(FrameStepper& only, Cursor& cursor, const ThreadInput& thread) const {
  const ThreadInput alone = without_checkpoints(cursor, thread);
  return WalkInProgress(steppers_, limits_, alone).step_from(cursor, &only);
}

Trace ChainWalker::walk(const ThreadInput& thread, Advisor* advisor) const {
  Trace trace = WalkInProgress(steppers_, limits_, thread, advisor).run();
  if (limits_.explicit_frames) merge_checkpoints(trace, thread.checkpoints);
  return trace;
}

}  // namespace mixstack::walk
