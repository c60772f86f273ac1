#include "walk/walker.h"

#include <algorithm>

#include "walk/walk_in_progress.h"

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

/// Puts the explicit Frames where they lie on the stack: before the frame whose context they hold, else by address.
void merge_checkpoints(Trace& trace, std::span<const Checkpoint> checkpoints) {
  std::vector<Frame> merged;
  merged.reserve(trace.frames.size() + checkpoints.size());
  std::vector<std::uint32_t> moved_to(trace.frames.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.frames.size(); i++) {
    const Frame& f = trace.frames[i];
    const auto lies_before = [&](const Checkpoint& c) { return c.resumes ? c.context.sp() <= f.sp : c.address < f.sp; };
    while (next < checkpoints.size() && lies_before(checkpoints[next])) merged.push_back(frame_of(checkpoints[next++]));
    moved_to[i] = static_cast<std::uint32_t>(merged.size());
    merged.push_back(f);
  }
  while (next < checkpoints.size()) merged.push_back(frame_of(checkpoints[next++]));
  for (Evidence& e : trace.evidence)
    if (e.frame < moved_to.size()) e.frame = moved_to[e.frame];
  trace.frames = std::move(merged);
}

}  // namespace

std::unique_ptr<WalkInProgress> Walker::begin(const ThreadInput& thread) const {
  return std::make_unique<WalkInProgress>(owners_, fallbacks_, limits_, thread);
}

Cursor Walker::initial(const ThreadInput& thread) const {
  Cursor cursor;
  cursor.registers = thread.registers;
  cursor.frame = Frame{
      .pc = CodeAddress::exact(thread.registers.pc()), .sp = thread.registers.sp(), .found_by = StepperId::initial};
  cursor.frame.is_interrupted = true;
  (void)claim_frame(owners_, cursor.frame);
  return cursor;
}

StepOutcome Walker::step(Cursor& cursor, const ThreadInput& thread) const {
  const ThreadInput alone{thread.tid, cursor.registers, thread.stack, thread.stack_range, thread.stack_truncated,
                          {},         thread.max_frames};
  return WalkInProgress(owners_, fallbacks_, limits_, alone).step_from(cursor);
}

Trace Walker::walk(const ThreadInput& thread) const {
  Trace trace = WalkInProgress(owners_, fallbacks_, limits_, thread).run();
  if (limits_.explicit_frames) merge_checkpoints(trace, thread.checkpoints);
  return trace;
}

}  // namespace mixstack::walk
