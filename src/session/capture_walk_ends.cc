// The last frame of a walk: whether it has no caller, or its caller is only not known.
#include <algorithm>
#include <array>

#include "base/arch/task_end.h"
#include "session/capture_walk.h"

namespace mixstack::session {

/// A thread's function, or main, returns here.
bool CaptureWalk::ends_task(const Frame& frame) const {
  std::array<std::byte, arch::kTaskEndBytes> code{};
  if (frame.kind != FrameKind::native || frame.pc.is_exact()) return false;
  const auto n = overlay_.read_some(frame.pc.raw(), code);
  return n && arch::ends_task(native_.engine().arch(), std::span(code).first(*n));
}

/// The first instructions of the program, or of the dynamic linker that is to start it.
bool CaptureWalk::is_entry_code(const Frame& frame) const {
  const Address pc = frame.pc.lookup();
  if (entry_point_ != 0 && pc - entry_point_ < arch::kEntryCodeBytes) return true;
  const auto image = modules_.image(frame.module);
  if (!image || (*image)->entry() == 0) return false;
  return frame.module_offset - (*image)->entry() < arch::kEntryCodeBytes;
}

void CaptureWalk::judge_stop(Trace& trace) const {
  // Entry code and the end of a thread have no caller, and often no unwind information that says so.
  const bool is_stuck = (trace.stop == StopReason::no_unwind_info || trace.stop == StopReason::bad_return_address) &&
                        !trace.frames.empty();
  if (is_stuck && (is_entry_code(trace.frames.back()) || ends_task(trace.frames.back()))) {
    trace.stop = StopReason::end_of_stack;
    trace.stop_error = {};
  }
  // The target has this stack word and the capture does not: the copy made in the stop was too short.
  if (trace.stop != StopReason::unreadable_memory || capture_.frozen != nullptr) return;
  const Address address = trace.stop_error.value;
  const bool exists = std::any_of(regions_.begin(), regions_.end(),
                                  [&](const Region& r) { return r.readable && r.range.contains(address); });
  if (exists) trace.stop = StopReason::stack_truncated;
}

}  // namespace mixstack::session
