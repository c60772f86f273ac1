// The manual's loop, for groups with none of our default steppers: the group offers steppers until one knows the frame.
#include <algorithm>

#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/walk.h"

namespace Dyninst::Stackwalker {
namespace {

constexpr unsigned kMaxBack = 1024;  // how often the stack pointer may go back (signal stacks, coroutines)

bool find(StepperGroup& group, Address address, FrameStepper*& out, const FrameStepper* last) {
  try {
    return group.findStepperForAddr(address, out, last) && out != nullptr;
  } catch (...) {
    return failed(err_internal, "the StepperGroup threw an exception");
  }
}

}  // namespace

gcframe_ret_t ask_stepper(FrameStepper& stepper, const Frame& in, Frame& out) {
  gcframe_ret_t answer = gcf_error;
  try {
    answer = stepper.getCallerFrame(in, out);
  } catch (...) {
    setLastError(err_internal, "a FrameStepper threw an exception");
  }
  trace_line("[stackwalker] %s at %lx: %d\n", stepper.getName(), in.getRA(), static_cast<int>(answer));
  return answer;
}

bool step_by_group(Walker& walker, const Frame& in, Frame& out) {
  StepperGroup* group = walker.getStepperGroup();
  if (group == nullptr) return failed(err_nogroup, nullptr);
  std::vector<const FrameStepper*> tried;
  FrameStepper* stepper = nullptr;
  bool proposed = false;
  while (tried.size() < kMaxTried) {
    const FrameStepper* last = stepper;
    stepper = nullptr;
    if (!find(*group, FrameAccess::lookup_address(in), stepper, last)) break;
    if (std::find(tried.begin(), tried.end(), stepper) != tried.end()) break;
    tried.push_back(stepper);
    clearLastError();
    Frame caller(&walker);
    caller.setThread(in.getThread());
    switch (ask_stepper(*stepper, in, caller)) {
      case gcf_success:
        proposed = true;
        if (!caller.isFrameComplete() || caller.getRA() == 0) continue;
        if (caller.getThread() == NULL_THR_ID) caller.setThread(in.getThread());
        FrameAccess::adopt(caller, &walker);
        FrameAccess::set_stepper(caller, stepper);
        out = std::move(caller);
        return true;
      case gcf_stackbottom:
        return failed(err_stackbottom, nullptr);
      case gcf_not_me:
        continue;
      case gcf_error:
        return getLastError() != 0 ? false : failed(err_internal, "a FrameStepper answered gcf_error");
    }
    return failed(err_internal, "a FrameStepper answered what is no gcframe_ret_t");
  }
  if (getLastError() == err_internal) return false;
  return failed(err_nostepper, proposed ? "stack cut: no stepper's caller makes sense" : nullptr);
}

bool walk_by_group(Walker& walker, std::vector<Frame>& stack) {
  unsigned back = 0;
  while (stack.size() < mixstack::stackwalker::kMaxFrames) {
    Frame caller;
    if (!step_by_group(walker, stack.back(), caller)) {
      if (getLastError() != err_stackbottom) return false;
      clearLastError();
      FrameAccess::mark_bottom(stack.back());
      return true;
    }
    if (caller.getSP() <= stack.back().getSP() && ++back > kMaxBack) break;
    stack.push_back(std::move(caller));
  }
  return failed(err_internal, "stack cut: more frames than are walked");
}

StopScope::StopScope(Walker& walker, THR_ID thread) : walker_(walker), thread_(thread) {
  Walker::Parts& parts = WalkerAccess::parts(walker);
  if (parts.depth++ != 0) return;
  parts.scope_capture = 0;
  try {
    ok_ = called_ = parts.proc->preStackwalk(thread);
  } catch (...) {
    ok_ = false;
    setLastError(err_internal, "preStackwalk threw an exception");
  }
  if (!ok_ && getLastError() == 0) setLastError(err_proccontrol, "preStackwalk failed");
  if (const auto engine = WalkerAccess::open_engine(*parts.proc); engine && ok_) engine->target_stands(true);
}

StopScope::~StopScope() {
  Walker::Parts& parts = WalkerAccess::parts(walker_);
  parts.depth--;
  if (!called_) return;
  if (const auto engine = WalkerAccess::open_engine(*parts.proc)) engine->target_stands(false);
  try {
    (void)parts.proc->postStackwalk(thread_);
  } catch (...) {
    trace_line("[stackwalker] postStackwalk threw an exception\n");
  }
}

}  // namespace Dyninst::Stackwalker
