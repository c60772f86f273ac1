// One walk of one thread, as decisions on values: which caller is accepted, when the second witness is asked, why the
// walk ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/walk_core/caller_check.h"
#include "engine/walk_core/stepper.h"
#include "engine/walk_core/stop_reason.h"
#include "engine/walk_core/witness.h"

namespace mixstack::walk {

// Among the engine's own frames only nested signal frames may have a caller at a lower sp; hostile CFI could loop
// there.
inline constexpr unsigned kMaxSignalFrames = 64;
// Users' steppers may also lead downwards (from a coroutine's stack to its resumer's), and could form a cycle.
inline constexpr unsigned kMaxStackSwitches = 1024;

[[nodiscard]] constexpr bool is_uncertain(Trust t) { return t >= Trust::frame_pointer; }

/// The decision on a proposed caller.
enum class Heard : std::uint8_t {
  nothing,  ///< rejected, or none proposed: ask the next stepper
  caller,   ///< accepted: the proposing cursor is now the caller's
  end,      ///< the walk ends here
};

/// The captured range of a stack, to tell memory that was not copied from memory that does not exist.
struct CopiedStack {
  AddressRange range;
  bool is_truncated = false;
};

/// `Host` owns the frames found, and knows the owner of code:
///
///   std::size_t size();                      frames recorded
///   Frame& last();                           the last of them
///   void record(Cursor&, Trust step);        appends the cursor's frame; `step`: how sure the step to it was
///   void drop_last();                        removes it
///   void confirm();                          all frames so far are as sure as the steps that found them
///   bool claim(Cursor&);                     completes a proposed frame; false: no owner
///   void keep_claim();                       the last claim is that of the current frame
///   void explain(StepperId, const Error&);   a stepper asked for the last frame's caller, and its answer
///
/// No member of the host is virtual. The driver owns the cursors. Allocates nothing and makes no system call;
/// signal-safe if the host is.
template <class Host>
class WalkCore {
 public:
  WalkCore(Host& host, std::span<const Checkpoint> checkpoints, const CopiedStack& copied)
      : host_(host), witness_(checkpoints), copied_(copied), has_checkpoints_(!checkpoints.empty()) {}

  /// Starts at the innermost frame, from the registers in `here`.
  void begin(Cursor& here) {
    const Address sp = here.registers.sp();
    here.frame = Frame{.pc = CodeAddress::exact(here.registers.pc()), .sp = sp, .found_by = StepperId::initial};
    here.frame.is_interrupted = true;
    claim(here);
  }
  /// Starts at a frame found elsewhere, complete except for its owner.
  void begin_at(Cursor& here) {
    trust_ = here.frame.trust;
    claim(here);
  }

  /// Appends the current frame.
  void record(Cursor& here) {
    if (here.frame.kind == FrameKind::managed) {
      in_native_run_ = false;
    } else if (!in_native_run_) {
      in_native_run_ = true;
      run_start_ = host_.size();
      run_sp_ = here.frame.sp;
      trust_before_run_ = trust_;
    }
    host_.record(here, step_trust_);
    first_error_ = {};
  }

  /// Decides on one stepper's answer for the caller of `here`, whose registers are in `next`.
  [[nodiscard]] Heard hear(const Cursor& here, Cursor& next, const StepOutcome& outcome) {
    if (outcome.status == StepStatus::not_mine) return Heard::nothing;
    if (outcome.status == StepStatus::failed) return refuse(outcome, outcome.error, outcome.ends_walk);
    // A return address of zero means that there is no caller. Code interrupted at 0 has called through a null pointer.
    const bool is_zero = outcome.status == StepStatus::caller && next.registers.pc() == 0;
    if (outcome.status == StepStatus::end_of_stack || (is_zero && !outcome.caller_interrupted)) {
      // If an earlier stepper knew the frame but failed, an uncertain end of stack proves nothing.
      if (outcome.trust != Trust::certain && stop_reason_for(first_error_.code) != StopReason::no_unwind_info) {
        host_.explain(outcome.stepper, {ErrorCode::no_unwind_info, 0, here.frame.pc.raw()});
        return Heard::nothing;
      }
      host_.explain(outcome.stepper, {});
      stop(StopReason::end_of_stack, {});
      is_final_ = outcome.ends_walk;
      if (outcome.status == StepStatus::end_of_stack && outcome.trust == Trust::certain) confirm();
      return Heard::end;
    }
    const Error objection = check(here, next, outcome);
    if (objection.code != ErrorCode::none)
      return refuse(outcome, objection, outcome.elsewhere && objection.code == ErrorCode::limit_exceeded);
    host_.explain(outcome.stepper, {});
    commit(here, next, outcome);
    return Heard::caller;
  }

  /// Ends the walk: no stepper found the caller of `here`.
  void stop_stuck(const Cursor& here) {
    const Error& first = first_error_;
    const bool is_beyond =
        first.code == ErrorCode::unreadable_memory && copied_.is_truncated && first.value >= copied_.range.begin;
    if (is_beyond) {
      stop(StopReason::stack_truncated, first);
    } else if (first.code == ErrorCode::none) {
      stop(StopReason::no_unwind_info, Error{ErrorCode::no_unwind_info, 0, here.frame.pc.raw()});
    } else {
      stop(stop_reason_for(first.code), first);
    }
  }
  void stop(StopReason reason, const Error& error) {
    stop_ = reason;
    stop_error_ = error;
  }

  /// On arrival at a managed frame asks the second witness; may go back and follow the witness instead.
  void settle_arrival(Cursor& here) {
    if (!has_checkpoints_ || leave_handlers_stack(here) || here.frame.kind != FrameKind::managed) return;
    switch (witness_.arrive(here.frame.sp)) {
      case Verdict::agrees:
        confirm();
        adopt_interruption(here, witness_.agreed());
        here.frame.trust = step_trust_ = Trust::certain;
        return;
      case Verdict::no_witness:
        if (in_native_run_ && is_uncertain(trust_) && !is_uncertain(trust_before_run_))
          if (const Checkpoint* c = witness_.way_out(run_sp_)) take_word_of(here, *c);
        return;
      case Verdict::missed:
        if (in_native_run_) {
          take_word_of(here, witness_.next());
          here.frame.witness_disagrees = true;
        } else {
          here.frame.witness_disagrees = true;
          witness_.resume_at(witness_.next());
        }
        return;
    }
  }

  /// After the end of a walk: resumes at a checkpoint further out, if there is one.
  [[nodiscard]] bool resume_if_stuck(Cursor& here) {
    if (is_final_ || !has_checkpoints_) return false;
    const Address sp = in_native_run_ ? run_sp_ : here.frame.sp;
    const Checkpoint* c = witness_.way_out(sp);
    if (c == nullptr) return false;
    // A chain that ended properly above the checkpoint never met it; one that ended below it is stuck.
    const bool ended = stop_ == StopReason::end_of_stack;
    if (ended && c->context.sp() > here.frame.sp && trust_ == Trust::certain && !in_native_run_) return false;
    stop(StopReason::end_of_stack, {});
    take_word_of(here, *c);
    return true;
  }

  /// Number of frames, from the innermost, that no checkpoint can remove any more while the walk continues.
  [[nodiscard]] std::size_t settled() const {
    const std::size_t found = host_.size();
    if (!has_checkpoints_ || found == 0) return found;
    const std::size_t kept = in_native_run_ && witness_.way_out(run_sp_) != nullptr ? run_start_ : found;
    return kept == 0 ? 0 : kept - 1;
  }

  [[nodiscard]] StopReason stop_reason() const { return stop_; }
  [[nodiscard]] const Error& stop_error() const { return stop_error_; }
  [[nodiscard]] Trust step_trust() const { return step_trust_; }

 private:
  void claim(Cursor& here) {
    (void)host_.claim(here);
    host_.keep_claim();
  }

  /// The chain is proved up to here: frames that were uncertain only because of an earlier step are so no longer.
  void confirm() {
    host_.confirm();
    trust_ = Trust::certain;
  }

  [[nodiscard]] Heard refuse(const StepOutcome& outcome, const Error& error, bool finally) {
    host_.explain(outcome.stepper, error);
    if (first_error_.code == ErrorCode::none) first_error_ = error;
    if (!finally) return Heard::nothing;
    is_final_ = true;
    stop(error.code == ErrorCode::limit_exceeded ? StopReason::max_frames : stop_reason_for(error.code), error);
    return Heard::end;
  }

  /// Whether the proposed caller is plausible. On success `next.frame` describes it.
  [[nodiscard]] Error check(const Cursor& here, Cursor& next, const StepOutcome& outcome) {
    const bool sp_known = next.registers.is_known(arch_registers(next.registers.arch()).sp);
    const Address sp = sp_known ? next.registers.sp() : outcome.sp_at_least, from = here.frame.sp;
    const Address pc = next.registers.pc();
    if (outcome.caller_interrupted) {
      if (signal_frames_ >= kMaxSignalFrames) return {ErrorCode::limit_exceeded, 0, kMaxSignalFrames};
    } else {
      const bool up =
          advances(from, sp, here.frame.is_interrupted, next.registers.arch(), outcome.trust == Trust::certain);
      if (!up && !outcome.elsewhere) return {ErrorCode::stack_not_advancing, 0, sp};
      if (!up && stack_switches_ >= kMaxStackSwitches) return {ErrorCode::limit_exceeded, 0, kMaxStackSwitches};
    }
    next.frame = Frame{.pc = outcome.caller_interrupted ? CodeAddress::exact(pc) : CodeAddress::after_call(pc),
                       .sp = sp,
                       .found_by = outcome.stepper};
    next.frame.is_interrupted = outcome.caller_interrupted;
    // An interrupted pc may be anything; a return address must be code.
    if (!host_.claim(next) && !outcome.caller_interrupted) return {ErrorCode::bad_return_address, 0, pc};
    return {};
  }

  void commit(const Cursor& here, Cursor& next, const StepOutcome& outcome) {
    Frame& last = host_.last();
    if (outcome.caller_interrupted) {
      signal_frames_++;
      if (here.frame.kind == FrameKind::native) last.kind = FrameKind::signal_trampoline;
    }
    if (outcome.elsewhere && next.frame.sp <= here.frame.sp) stack_switches_++;
    if (here.frame.kind == FrameKind::managed && !outcome.caller_interrupted) witness_.leave(next.frame.sp);
    last.cfa = next.frame.sp;
    last.stub_target = outcome.stub_target;
    last.set_generic_context(outcome.generic_context);
    step_trust_ = outcome.trust;
    trust_ = std::max(trust_, outcome.trust);
    next.frame.trust = trust_;
    host_.keep_claim();
  }

  /// A stack overflow is handled on a stack of its own, called from a fake frame at that stack's top: the pc of its
  /// caller is right but the sp is not. The Frame made on the handler's stack has both.
  [[nodiscard]] bool leave_handlers_stack(Cursor& here) {
    if (!in_native_run_ || host_.size() == 0) return false;
    const Checkpoint* c = witness_.interruption(here.frame.pc.raw(), {run_sp_, here.frame.sp});
    if (c == nullptr || c->context.sp() == here.frame.sp) return false;
    witness_.resume_at(*c);
    adopt_interruption(here, *c);
    here.frame.sp = c->context.sp();
    host_.last().cfa = 0;
    confirm();
    here.frame.trust = step_trust_ = Trust::certain;
    return true;
  }

  /// A fault is dispatched on a fake call frame whose CFI restores only pc, sp and the frame pointer (CoreCLR's
  /// CallSignalHandlerWrapper). Only the Frame has the other registers, and knows that the pc was interrupted.
  void adopt_interruption(Cursor& here, const Checkpoint& c) {
    if (!c.interrupted) return;
    here.registers = c.context;
    here.frame.pc = CodeAddress::exact(c.context.pc());
    here.frame.is_interrupted = true;
    here.frame.explicit_frame = c.address;
    claim(here);
  }

  /// Removes the frames of this native run above the checkpoint's sp, and continues from its registers.
  void take_word_of(Cursor& here, const Checkpoint& c) {
    const Address sp = c.context.sp();
    const std::size_t keep = in_native_run_ ? run_start_ : host_.size();
    while (host_.size() > keep && host_.last().sp >= sp) host_.drop_last();
    witness_.resume_at(c);
    here.registers = c.context;
    const Address pc = c.context.pc();
    here.frame = Frame{.pc = c.interrupted ? CodeAddress::exact(pc) : CodeAddress::after_call(pc),
                       .sp = sp,
                       .found_by = StepperId::explicit_frame};
    here.frame.is_interrupted = c.interrupted;
    here.frame.explicit_frame = c.address;
    claim(here);
    trust_ = std::max(trust_before_run_, Trust::checkpoint);
    here.frame.trust = trust_;
    step_trust_ = Trust::checkpoint;
  }

  Host& host_;
  Witness witness_;
  CopiedStack copied_;
  bool has_checkpoints_;
  StopReason stop_ = StopReason::end_of_stack;
  Error stop_error_;
  Error first_error_;                  ///< the first error for this caller
  Trust trust_ = Trust::certain;       ///< of the chain up to the cursor
  Trust step_trust_ = Trust::certain;  ///< of the step that found the cursor's frame
  Trust trust_before_run_ = Trust::certain;
  bool is_final_ = false;  ///< the stepper's stop is final
  bool in_native_run_ = false;
  std::size_t run_start_ = 0;
  Address run_sp_ = 0;
  unsigned signal_frames_ = 0;
  unsigned stack_switches_ = 0;
};

}  // namespace mixstack::walk
