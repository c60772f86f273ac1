#include "dotnet/code/managed_stepper.h"

#include "dotnet/code/stub_target.h"

namespace mixstack::dotnet {

using walk::StepOutcome;
using walk::StepStatus;

bool ManagedStepper::claim(Frame& frame) {
  const CodeInfo& info = code_.find(frame.pc);
  if (info.kind == CodeKind::none) return false;
  frame.kind = info.is_managed() ? FrameKind::managed : FrameKind::runtime_stub;
  frame.funclet = info.funclet;
  frame.method = info.method_desc;
  frame.method_start = info.method_start;
  if (info.kind == CodeKind::stub) frame.frame_identifier = static_cast<std::uint32_t>(info.stub);
  return true;
}

StepOutcome ManagedStepper::step(walk::Cursor& cursor, const walk::ThreadInput& thread) {
  if (cursor.frame.kind != FrameKind::managed || engine_ == nullptr) return {};
  StepOutcome outcome{.status = StepStatus::failed, .stepper = StepperId::managed};
  outcome.generic_context = contexts_.of(cursor.frame, cursor.registers, thread.stack);
  engine_->bind(&code_);
  const unwind::RuleStep step = engine_->step(cursor.frame.pc, cursor.registers, thread.stack);
  switch (step.status) {
    case unwind::RuleStatus::caller:
      outcome.status = StepStatus::caller;
      outcome.caller_interrupted = step.pc.is_exact();
      // Without a method the unwind codes may belong to other code.
      if (cursor.frame.method == 0) outcome.trust = Trust::inferred;
      if (!thread.checkpoints.empty())
        outcome.stub_target = stub_target(code_, cursor.frame, cursor.registers.sp(), thread.checkpoints);
      break;
    case unwind::RuleStatus::end_of_stack:
      outcome.status = StepStatus::end_of_stack;
      break;
    case unwind::RuleStatus::failed:
      outcome.error = engine_->error();
      break;
    case unwind::RuleStatus::no_code: {
      const auto why = code_.general(cursor.frame.pc);
      outcome.error = why ? Error{ErrorCode::no_unwind_info, 0, cursor.frame.pc.raw()} : why.error();
      break;
    }
  }
  return outcome;
}

}  // namespace mixstack::dotnet
