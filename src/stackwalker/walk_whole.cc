// Walks by the engine as a whole: native and managed frames with both witnesses of each transition.
#include <algorithm>

#include "stackwalker/error_map.h"
#include "stackwalker/walk.h"

namespace Dyninst::Stackwalker {

using mixstack::StepperId;

bool is_default_group(const Walker& walker) {
  const Walker::Parts& parts = WalkerAccess::parts(walker);
  if (!parts.own_group || !parts.defaults) return false;
  std::set<FrameStepper*> present;
  parts.group->getSteppers(present);
  const std::vector<FrameStepper*> ours = parts.defaults->all();
  return present == std::set<FrameStepper*>(ours.begin(), ours.end());
}

FrameStepper* stepper_of(Walker& walker, const mixstack::Frame& frame) {
  DefaultSteppers* steppers = WalkerAccess::parts(walker).defaults.get();
  if (steppers == nullptr) return nullptr;
  switch (frame.found_by) {
    case StepperId::none:
    case StepperId::initial:
      return nullptr;
    case StepperId::eh_frame:
    case StepperId::debug_frame:
      // A frame that was interrupted was found out of a signal's frame.
      if (frame.is_interrupted) return &steppers->signal;
      return &steppers->debug;
    case StepperId::signal_frame:
      return &steppers->signal;
    case StepperId::frame_pointer:
      return &steppers->frame;
    case StepperId::prologue:
      return &steppers->analysis;
    case StepperId::stub:
    case StepperId::scan:
      return &steppers->wanderer;
    case StepperId::managed:
    case StepperId::explicit_frame:
    case StepperId::user:
      return &steppers->debug;
  }
  return nullptr;
}

namespace {

/// In the function that called us the pc, the stack and the callee-saved registers are those of a running frame.
void make_innermost(Place& place) {
  const mixstack::ArchRegisters numbers = mixstack::arch_registers(place.registers.arch());
  const auto in_register = [](unsigned reg) {
    return mixstack::stackwalker::Location{mixstack::stackwalker::Location::Kind::in_register, 0, reg};
  };
  place.ra = in_register(numbers.pc);
  place.sp = in_register(numbers.sp);
  place.fp = in_register(numbers.fp);
  place.frame.found_by = StepperId::initial;
}

/// First frame outside this library.
std::size_t first_above(const std::vector<Place>& places, Address boundary) {
  const auto at =
      std::find_if(places.begin(), places.end(), [boundary](const Place& p) { return p.frame.sp >= boundary; });
  return static_cast<std::size_t>(at - places.begin());
}

}  // namespace

bool walk_whole(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid, Address boundary,
                std::vector<Frame>& out) {
  mixstack::stackwalker::WalkedStack stack = engine->walk();
  std::size_t first = 0;
  if (boundary != 0) first = first_above(stack.places, boundary);
  if (boundary != 0 && first < stack.places.size()) make_innermost(stack.places[first]);
  out.reserve(stack.places.size() - first);
  for (std::size_t i = first; i < stack.places.size(); i++)
    out.push_back(FrameAccess::make(&walker, engine, stack.places[i], tid, stepper_of(walker, stack.places[i].frame)));
  if (!out.empty()) FrameAccess::mark_top(out.front());
  if (stack.stop != mixstack::StopReason::end_of_stack) {
    set_stop_error(stack.stop, stack.error);
    return false;
  }
  if (!out.empty()) FrameAccess::mark_bottom(out.back());
  return !out.empty() || failed(err_nostepper, "no frame was found");
}

bool find_top(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid, Address boundary, Frame& out) {
  auto place = engine->initial();
  if (!place) return failed(err_nothrd, nullptr);
  std::size_t steps = 0;
  while (place->frame.sp < boundary && steps++ < kMaxFrames) {
    auto step = engine->step(*place);
    if (step.status != mixstack::StepStatus::caller) {
      set_error(step.error, "leave the library's own frames");
      return false;
    }
    place = step.caller;
  }
  if (boundary != 0) make_innermost(*place);
  out = FrameAccess::make(&walker, engine, *place, tid, nullptr);
  FrameAccess::mark_top(out);
  return true;
}

bool step_on(Walker& walker, const Frame& in, Frame& out) {
  const auto place = FrameAccess::place(walker, in);
  if (!place) return false;
  const auto engine = WalkerAccess::engine(&walker);
  if (!engine) return false;
  const Engine::Step step = engine->step(*place);
  if (step.status == mixstack::StepStatus::end_of_stack) return failed(err_stackbottom, nullptr);
  if (step.status != mixstack::StepStatus::caller) {
    set_error(step.error.code == mixstack::ErrorCode::none ? mixstack::Error{mixstack::ErrorCode::no_unwind_info, 0, 0}
                                                           : step.error,
              "find the caller");
    return false;
  }
  const THR_ID tid = in.getThread() != NULL_THR_ID ? in.getThread() : static_cast<THR_ID>(engine->captured_thread());
  out = FrameAccess::make(&walker, engine, step.caller, tid, stepper_of(walker, step.caller.frame));
  if (engine->is_outermost(step.caller)) FrameAccess::mark_bottom(out);
  return true;
}

bool walk_on(Walker& walker, const Frame& from, std::vector<Frame>& out) {
  // While the frame's own capture is held, the whole walk of it knows more than single steps do.
  if (const auto place = FrameAccess::place(walker, from); place && FrameAccess::is_as_found(from)) {
    const auto engine = WalkerAccess::engine(&walker);
    std::vector<Frame> whole;
    const bool reached_end = engine && walk_whole(walker, engine, from.getThread(), 0, whole);
    const auto at = std::find_if(whole.begin(), whole.end(), [&](const Frame& f) {
      return f.getRA() == from.getRA() && f.getSP() == from.getSP();
    });
    if (at != whole.end()) {
      out.assign(at, whole.end());
      out.front() = from;
      return reached_end;
    }
  } else if (!place) {
    return false;
  }
  out.push_back(from);
  while (out.size() < kMaxFrames) {
    Frame next;
    if (!step_on(walker, out.back(), next)) {
      if (getLastError() != err_stackbottom) return false;
      FrameAccess::mark_bottom(out.back());
      return true;
    }
    out.push_back(std::move(next));
  }
  return failed(err_internal, "stack cut: more frames than are walked");
}

}  // namespace Dyninst::Stackwalker
