// The default steppers one by one, and the group-independent parts of FrameStepper.
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/walk.h"

namespace Dyninst::Stackwalker {

using mixstack::StepStatus;
using mixstack::stackwalker::Method;

FrameStepper::FrameStepper(Walker* w) : walker(w) {}
FrameStepper::~FrameStepper() = default;
ProcessState* FrameStepper::getProcessState() { return walker != nullptr ? walker->getProcessState() : nullptr; }
Walker* FrameStepper::getWalker() { return walker; }
void FrameStepper::newLibraryNotification(LibAddrPair*, lib_change_t) {}
void FrameStepper::registerStepperGroup(StepperGroup* steppergroup) {
  if (steppergroup == nullptr) return;
  std::set<FrameStepper*> known;
  steppergroup->getSteppers(known);
  if (!known.contains(this)) (void)steppergroup->addStepper(this, 0, ~Address{0});
}

namespace {

gcframe_ret_t error(err_t code, const char* text) {
  setLastError(code, text);
  return gcf_error;
}

/// One step by one mechanism of the engine.
gcframe_ret_t step_by(Method method, FrameStepper& stepper, const Frame& in, Frame& out) {
  Walker* walker = stepper.getWalker();
  if (walker == nullptr) return error(err_badparam, "the stepper has no Walker");
  const auto place = FrameAccess::place(*walker, in, method == Method::frame_pointer);
  if (!place) return gcf_error;
  const auto engine = WalkerAccess::engine(walker);
  if (!engine) return gcf_error;
  const Engine::Step step = engine->step_by(method, *place);
  switch (step.status) {
    case StepStatus::caller:
      out = FrameAccess::make(walker, engine, step.caller, in.getThread(), &stepper);
      return gcf_success;
    case StepStatus::end_of_stack:
      return gcf_stackbottom;
    case StepStatus::not_mine:
      break;
    case StepStatus::failed:
      // Another stepper may succeed; if none does, this is the reason.
      set_error(step.error, stepper.getName());
      break;
  }
  return gcf_not_me;
}

}  // namespace

gcframe_ret_t DebugStepper::getCallerFrame(const Frame& in, Frame& out) {
  return step_by(Method::unwind_info, *this, in, out);
}

gcframe_ret_t SigHandlerStepper::getCallerFrame(const Frame& in, Frame& out) {
  return step_by(Method::signal, *this, in, out);
}

gcframe_ret_t AnalysisStepper::getCallerFrame(const Frame& in, Frame& out) {
  return step_by(Method::prologue, *this, in, out);
}

gcframe_ret_t FrameFuncStepper::getCallerFrame(const Frame& in, Frame& out) {
  if (helper_ != nullptr) {
    const auto [type, state] = helper_->allocatesFrame(in.getRA());
    const bool has_record = type == FrameFuncHelper::standard_frame && state != FrameFuncHelper::unset_frame &&
                            state != FrameFuncHelper::halfset_frame;
    if (type != FrameFuncHelper::unknown_t && !has_record) return gcf_not_me;
  }
  return step_by(Method::frame_pointer, *this, in, out);
}

gcframe_ret_t StepperWanderer::getCallerFrame(const Frame& in, Frame& out) {
  // A function with a set-up frame is left to the FrameFuncStepper.
  if (function_ != nullptr && function_->allocatesFrame(in.getRA()).second == FrameFuncHelper::set_frame)
    return gcf_not_me;
  Frame found;
  const gcframe_ret_t answer = step_by(Method::scan, *this, in, found);
  if (answer != gcf_success) return answer;
  if (wanderer_ != nullptr) {
    Address target = 0;
    if (!wanderer_->isPrevInstrACall(found.getRA(), target)) return gcf_not_me;
    const bool is_ours = target != 0 && wanderer_->isPCInFunc(target, in.getRA()) == WandererHelper::in_func;
    if (wanderer_->requireExactMatch() && !is_ours) return gcf_not_me;
  }
  out = std::move(found);
  return gcf_success;
}

gcframe_ret_t BottomOfStackStepper::getCallerFrame(const Frame& in, Frame&) {
  Walker* own = getWalker();
  if (own == nullptr) return error(err_badparam, "the stepper has no Walker");
  const auto place = FrameAccess::place(*own, in);
  if (!place) return gcf_error;
  const auto engine = WalkerAccess::engine(own);
  if (!engine) return gcf_error;
  return engine->is_outermost(*place) ? gcf_stackbottom : gcf_not_me;
}

bool WandererHelper::isPrevInstrACall(Address addr, Address& target) {
  const auto engine = WalkerAccess::engine(proc_);
  return engine && engine->follows_call(addr, target);
}

WandererHelper::pc_state WandererHelper::isPCInFunc(Address func_entry, Address pc) {
  const auto engine = WalkerAccess::engine(proc_);
  if (!engine) return unknown_s;
  const auto start = engine->function_start(pc);
  if (!start) return unknown_s;
  return *start == func_entry ? in_func : outside_func;
}

bool WandererHelper::requireExactMatch() { return false; }

}  // namespace Dyninst::Stackwalker
