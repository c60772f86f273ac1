// Whole walks by the engine: native and managed frames with two witnesses for each transition.
#include <algorithm>

#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/group_advisor.h"
#include "frontends/stackwalker/walk.h"

namespace Dyninst::Stackwalker {

using mixstack::StepperId;
using mixstack::stackwalker::kMaxFrames;

std::set<FrameStepper*> own_steppers(const Walker& walker) {
  const Walker::Parts& parts = WalkerAccess::parts(walker);
  if (!parts.defaults) return {};
  const std::vector<FrameStepper*> ours = parts.defaults->all();
  return {ours.begin(), ours.end()};
}

namespace {

std::set<FrameStepper*> steppers_in_group(const Walker& walker) {
  std::set<FrameStepper*> present;
  WalkerAccess::parts(walker).group->getSteppers(present);
  return present;
}

}  // namespace

bool is_engines(const Walker& walker) {
  const std::set<FrameStepper*> present = steppers_in_group(walker), ours = own_steppers(walker);
  return std::any_of(ours.begin(), ours.end(), [&](FrameStepper* s) { return present.contains(s); });
}

bool has_users_steppers(const Walker& walker) {
  return !WalkerAccess::parts(walker).own_group || steppers_in_group(walker) != own_steppers(walker);
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
      // An interrupted frame was found from a signal frame.
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

/// In the function that called us, pc, sp and callee-saved registers are those of a running frame.
void make_innermost(FramePlace& place) {
  const mixstack::ArchRegisters numbers = mixstack::arch_registers(place.registers.arch());
  const auto in_register = [](unsigned reg) {
    return mixstack::stackwalker::Location{mixstack::stackwalker::Location::Kind::in_register, 0, reg};
  };
  place.ra = in_register(numbers.pc);
  place.sp = in_register(numbers.sp);
  place.fp = in_register(numbers.fp);
  place.frame.found_by = StepperId::initial;
}

std::shared_ptr<const FoundFrames> walk_whole(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid,
                                              Address boundary) {
  const Walker::Parts& parts = WalkerAccess::parts(walker);
  GroupAdvisor advisor(walker, engine, tid, boundary);
  engine->target_stands(parts.depth != 0 && parts.scope_capture == engine->capture_id());
  const mixstack::stackwalker::WalkedStack stack = engine->walk(has_users_steppers(walker) ? &advisor : nullptr);
  engine->target_stands(parts.depth != 0);

  auto found = std::make_shared<FoundFrames>();
  found->engine = engine;
  found->capture_id = engine->capture_id();
  found->vectors = engine->captured_vectors();
  found->is_walk = true;
  found->steppers = steppers_in_group(walker);
  const auto& places = stack.places;
  const auto first =
      std::find_if(places.begin(), places.end(), [boundary](const FramePlace& p) { return p.frame.sp >= boundary; });
  for (auto at = first; at != places.end(); ++at) {
    found->frames.push_back({*at, stepper_of(walker, at->frame), tid, found.get()});
    if (at == first && boundary != 0) make_innermost(found->frames.back().place);
    if (at == first) found->frames.back().stepper = nullptr;
    if (at != first) advisor.complete(*std::prev(at), found->frames.back());
    if (const FrameStepper* by = found->frames.back().stepper)
      trace_line("[stackwalker] %s found %lx\n", by->getName(), at->frame.pc.raw());
  }
  set_stop_error(stack.stop, stack.error);
  if (found->frames.empty()) setLastError(err_nostepper, "no frame was found");
  if (advisor.error() != 0) setLastError(advisor.error(), advisor.error_text().c_str());
  found->error = getLastError();
  found->error_text = getLastErrorMsg();
  return found;
}

bool deliver(Walker& walker, const std::shared_ptr<const FoundFrames>& walk, std::size_t from,
             std::vector<Frame>& out) {
  out.reserve(walk->frames.size() - from);
  for (std::size_t i = from; i < walk->frames.size(); i++) out.push_back(FrameAccess::make(&walker, walk, i));
  clearLastError();
  return walk->error == err_stackbottom || failed(walk->error, walk->error_text.c_str());
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

std::shared_ptr<const FoundFrames> walk_around(Walker& walker, const Frame& frame, std::size_t& index) {
  const auto origin = FrameAccess::origin(frame);
  if (!FrameAccess::is_as_found(frame) || !is_engines(walker)) return nullptr;
  const FoundFrames& found = *origin->found;
  index = static_cast<std::size_t>(origin.get() - found.frames.data());
  if (found.is_walk && found.steppers == steppers_in_group(walker)) return {origin, &found};
  // Its capture is walked again as a whole, if it is still held.
  const auto engine = found.engine.lock();
  const auto& proc = *walker.getProcessState();
  const bool is_held = engine && engine == WalkerAccess::open_engine(proc) && found.capture_id != 0 &&
                       found.capture_id == engine->capture_id() && !engine->is_walking();
  if (!is_held) return nullptr;
  const bool is_own = walker.getProcessState()->isFirstParty();
  auto walk = walk_whole(walker, engine, frame.getThread(), is_own ? frame.getSP() : 0);
  const auto at = std::find_if(walk->frames.begin(), walk->frames.end(), [&](const FrameOrigin& f) {
    return f.place.frame.pc == origin->place.frame.pc && f.place.frame.sp == origin->place.frame.sp;
  });
  index = static_cast<std::size_t>(at - walk->frames.begin());
  return at != walk->frames.end() ? walk : nullptr;
}

bool step_on(Walker& walker, const Frame& in, Frame& out) {
  const auto place = FrameAccess::place(walker, in);
  if (!place) return false;
  const auto engine = WalkerAccess::engine(&walker);
  if (!engine) return false;
  const THR_ID tid = in.getThread() != NULL_THR_ID ? in.getThread() : engine->captured_thread_name();
  // A stepper that asks what we would do is not asked in turn.
  const bool asks_users = has_users_steppers(walker) && !engine->is_walking();
  GroupAdvisor advisor(walker, engine, tid, 0), next(walker, engine, tid, 0);
  advisor.begin_at(in);
  const Engine::Step step = engine->step(*place, asks_users ? &advisor : nullptr);
  if (advisor.error() != 0) return failed(advisor.error(), advisor.error_text().c_str());
  if (step.status == mixstack::StepStatus::end_of_stack) return failed(err_stackbottom, nullptr);
  if (step.status != mixstack::StepStatus::caller) {
    set_error(step.error.code == mixstack::ErrorCode::none ? mixstack::Error{mixstack::ErrorCode::no_unwind_info, 0, 0}
                                                           : step.error,
              "find the caller");
    return false;
  }
  FrameOrigin found{step.caller, stepper_of(walker, step.caller.frame), tid, nullptr};
  advisor.complete(*place, found);
  out = FrameAccess::make(&walker, engine, found.place, found.thread, found.stepper);
  next.begin_at(out);
  // The next step tells where this frame begins, and whether it is the last.
  const Engine::Step beyond = engine->step(step.caller, asks_users ? &next : nullptr);
  if (beyond.status == mixstack::StepStatus::caller) found.place.frame.cfa = beyond.caller.frame.sp;
  out = FrameAccess::make(&walker, engine, found.place, found.thread, found.stepper);
  if (beyond.status == mixstack::StepStatus::end_of_stack) FrameAccess::mark_bottom(out);
  clearLastError();
  return true;
}

bool walk_on(Walker& walker, const Frame& from, std::vector<Frame>& out) {
  std::size_t index = 0;
  if (const auto walk = walk_around(walker, from, index)) {
    const bool reached_end = deliver(walker, walk, index, out);
    const bool is_bottom = out.front().isBottomFrame();
    out.front() = from;
    if (is_bottom) FrameAccess::mark_bottom(out.front());
    return reached_end;
  }
  if (!FrameAccess::place(walker, from)) return false;
  out.push_back(from);
  while (out.size() < kMaxFrames) {
    Frame next;
    if (!step_on(walker, out.back(), next)) {
      if (getLastError() != err_stackbottom) return false;
      FrameAccess::mark_bottom(out.back());
      clearLastError();
      return true;
    }
    out.push_back(std::move(next));
  }
  return failed(err_internal, "stack cut: more frames than are walked");
}

}  // namespace Dyninst::Stackwalker
