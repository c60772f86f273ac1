// One walk of one thread, as decisions on values: which caller is believed, when the second witness is heard, why the
// walk ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "walk_core/caller_check.h"
#include "walk_core/stepper.h"
#include "walk_core/stop_reason.h"
#include "walk_core/witness.h"

namespace mixstack::walk {

// Of the engine's own frames only nested signal frames may have a caller at a lower sp; hostile CFI could loop there.
inline constexpr unsigned kMaxSignalFrames = 64;
// Users' steppers may lead down, too (from a coroutine's stack to its resumer's), and could lead in a circle.
inline constexpr unsigned kMaxStackSwitches = 1024;

[[nodiscard]] constexpr bool is_uncertain(Trust t) { return t >= Trust::frame_pointer; }

/// What a proposal came to.
enum class Heard : std::uint8_t {
  nothing,  ///< it is not believed, or there was none: the next is asked
  caller,   ///< the cursor it was made in is the caller's
  end,      ///< the walk ends here
};

/// The captured bytes of a stack, to tell memory that was not copied from memory that is not there.
struct CopiedStack {
  AddressRange range;
  bool is_truncated = false;
};

/// `Host` owns what was found and knows whose code an address is:
///
///   std::size_t size();                      frames recorded
///   Frame& last();                           the last of them
///   void record(Cursor&, Trust step);        appends the cursor's frame; `step`: how sure the step to it was
///   void drop_last();                        takes it back
///   void confirm();                          all frames so far are as sure as the steps that found them
///   bool claim(Cursor&);                     completes a proposed frame; false: nobody's code
///   void keep_claim();                       the last claim is that of the frame the walk stands at now
///   void explain(StepperId, const Error&);   what was asked for the last frame's caller, and what it answered
///
/// Nothing of the host is virtual. Cursors are the driver's. Allocates nothing and makes no system call; signal-safe if
/// the host is.
template <class Host>
class WalkCore {
 public:
  WalkCore(Host& host, std::span<const Checkpoint> checkpoints, const CopiedStack& copied)
      : host_(host), witness_(checkpoints), copied_(copied), has_checkpoints_(!checkpoints.empty()) {}

  /// The innermost frame, from the registers that `here` has.
  void begin(Cursor& here) {
    const Address sp = here.registers.sp();
    here.frame = Frame{.pc = CodeAddress::exact(here.registers.pc()), .sp = sp, .found_by = StepperId::initial};
    here.frame.is_interrupted = true;
    claim(here);
  }
  /// A frame found elsewhere, complete but for whose code it is.
  void begin_at(Cursor& here) {
    trust_ = here.frame.trust;
    claim(here);
  }

  /// Appends the frame the walk stands at.
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

  /// What one of those who are asked for the caller of `here` answered, with its registers in `next`.
  [[nodiscard]] Heard hear(const Cursor& here, Cursor& next, const StepOutcome& outcome) {
    if (outcome.status == StepStatus::not_mine) return Heard::nothing;
    if (outcome.status == StepStatus::failed) return refuse(outcome, outcome.error, outcome.ends_walk);
    // A return address of zero: nobody called. Code interrupted at 0 has called through a null pointer.
    const bool is_zero = outcome.status == StepStatus::caller && next.registers.pc() == 0;
    if (outcome.status == StepStatus::end_of_stack || (is_zero && !outcome.caller_interrupted)) {
      // Where somebody knew the frame and could not go on, a guess that it is the outermost one proves nothing.
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

  /// All were asked for the caller of `here`, in vain.
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

  /// On arrival at a managed frame, asks the second witness; may go back and take its word instead.
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

  /// After the walk ended: goes on from a checkpoint further out, where there is one.
  [[nodiscard]] bool resume_if_stuck(Cursor& here) {
    if (is_final_ || !has_checkpoints_) return false;
    const Address sp = in_native_run_ ? run_sp_ : here.frame.sp;
    const Checkpoint* c = witness_.way_out(sp);
    if (c == nullptr) return false;
    // A chain that ended properly above the checkpoint never met it; one that ended below it is simply stuck.
    const bool ended = stop_ == StopReason::end_of_stack;
    if (ended && c->context.sp() > here.frame.sp && trust_ == Trust::certain && !in_native_run_) return false;
    stop(StopReason::end_of_stack, {});
    take_word_of(here, *c);
    return true;
  }

  /// How many frames, from the innermost, no checkpoint can take back any more while the walk goes on.
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

  /// The chain proved right up to here: what was doubted only because of an earlier step is doubted no longer.
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

  /// Does the proposed caller make sense? On success `next.frame` is its description.
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
    // An interrupted pc is where the CPU was, be it code or not; a return address must be code.
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

  /// A stack overflow is handled on a stack of its own, called from a fake frame at that stack's top: the pc it leads
  /// to is right and the sp is not. The Frame that was made on the handler's stack knows both.
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
  /// CallSignalHandlerWrapper): the other registers, and that the pc was interrupted, are known to the Frame alone.
  void adopt_interruption(Cursor& here, const Checkpoint& c) {
    if (!c.interrupted) return;
    here.registers = c.context;
    here.frame.pc = CodeAddress::exact(c.context.pc());
    here.frame.is_interrupted = true;
    here.frame.explicit_frame = c.address;
    claim(here);
  }

  /// Drops the frames of this native run that lie above the checkpoint's sp and goes on from its registers.
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
  Error first_error_;                  ///< why the first that was asked for this caller could not tell
  Trust trust_ = Trust::certain;       ///< of the chain up to the cursor
  Trust step_trust_ = Trust::certain;  ///< of the step that found the cursor's frame
  Trust trust_before_run_ = Trust::certain;
  bool is_final_ = false;  ///< the stop is a stepper's last word
  bool in_native_run_ = false;
  std::size_t run_start_ = 0;
  Address run_sp_ = 0;
  unsigned signal_frames_ = 0;
  unsigned stack_switches_ = 0;
};

}  // namespace mixstack::walk
