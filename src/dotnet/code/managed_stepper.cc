#include "dotnet/code/managed_stepper.h"

#include "dotnet/code/stub_target.h"
#include "unwind/apply.h"

namespace mixstack::dotnet {

using walk::StepOutcome;
using walk::StepStatus;

bool ManagedStepper::claim(Frame& frame) {
  const CodeInfo& info = code_.find(frame.pc);
  if (info.kind == CodeKind::none) return false;
  frame.kind = info.is_managed() ? FrameKind::managed : FrameKind::runtime_stub;
  frame.is_funclet = info.is_funclet;
  frame.method = info.method_desc;
  frame.method_start = info.method_start;
  if (info.kind == CodeKind::stub) frame.frame_identifier = static_cast<std::uint32_t>(info.stub);
  return true;
}

StepOutcome ManagedStepper::step(walk::Cursor& cursor, const walk::ThreadInput& thread) {
  if (cursor.frame.kind != FrameKind::managed) return {};
  StepOutcome outcome{.status = StepStatus::failed, .stepper = StepperId::managed};
  auto rule = code_.rule(cursor.frame.pc);
  if (!rule) {
    outcome.error = rule.error();
    return outcome;
  }
  auto caller = unwind::apply(**rule, cursor.registers, cursor.frame.pc, thread.stack, pac_mask_);
  if (!caller) {
    outcome.error = caller.error();
    return outcome;
  }
  outcome.trust = (*rule)->trust;
  if (!caller->is_end_of_stack && !thread.checkpoints.empty())
    outcome.stub_target = stub_target(code_, cursor.frame, cursor.registers.sp(), thread.checkpoints);
  outcome.caller_interrupted = (*rule)->is_signal_frame;
  outcome.status = caller->is_end_of_stack ? StepStatus::end_of_stack : StepStatus::caller;
  return outcome;
}

}  // namespace mixstack::dotnet
