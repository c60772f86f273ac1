// The documented loop: the group names steppers until one knows the frame.
#include <algorithm>

#include "stackwalker/error_map.h"
#include "stackwalker/walk.h"

namespace Dyninst::Stackwalker {
namespace {

constexpr std::size_t kMaxTried = 1024;
constexpr unsigned kMaxNonCalls = 64;  // only there may the stack pointer go back (alternate signal stacks)

gcframe_ret_t ask(FrameStepper& stepper, const Frame& in, Frame& out) {
  try {
    return stepper.getCallerFrame(in, out);
  } catch (...) {
    setLastError(err_internal, "a FrameStepper threw an exception");
    return gcf_error;
  }
}

bool find(StepperGroup& group, Address address, FrameStepper*& out, const FrameStepper* last) {
  try {
    return group.findStepperForAddr(address, out, last) && out != nullptr;
  } catch (...) {
    return failed(err_internal, "the StepperGroup threw an exception");
  }
}

/// Something that can be a caller: nothing else is known of a user's frame.
bool is_valid(Walker& walker, const Frame& in, const Frame& out) {
  if (!out.isFrameComplete() || out.getRA() == 0) return false;
  if (out.getSP() > in.getSP() || out.nonCall()) return true;
  if (out.getSP() < in.getSP() || !in.isTopFrame()) return false;
  // A leaf function of a CPU with a link register has no stack of its own.
  const auto engine = WalkerAccess::engine(&walker);
  return engine && engine->target().info().arch == mixstack::Arch::aarch64;
}

}  // namespace

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
    const gcframe_ret_t answer = ask(*stepper, in, caller);
    trace_line("[stackwalker] %s at %lx: %d\n", stepper->getName(), in.getRA(), static_cast<int>(answer));
    switch (answer) {
      case gcf_success:
        proposed = true;
        if (!is_valid(walker, in, caller)) continue;
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
  unsigned non_calls = 0;
  while (stack.size() < kMaxFrames) {
    Frame caller;
    if (!step_by_group(walker, stack.back(), caller)) {
      if (getLastError() != err_stackbottom) return false;
      clearLastError();
      FrameAccess::mark_bottom(stack.back());
      return true;
    }
    if (caller.nonCall() && ++non_calls > kMaxNonCalls) break;
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
}

StopScope::~StopScope() {
  Walker::Parts& parts = WalkerAccess::parts(walker_);
  parts.depth--;
  if (!called_) return;
  try {
    (void)parts.proc->postStackwalk(thread_);
  } catch (...) {
    trace_line("[stackwalker] postStackwalk threw an exception\n");
  }
}

}  // namespace Dyninst::Stackwalker
