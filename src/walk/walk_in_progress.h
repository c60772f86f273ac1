// One walk of one thread, frame by frame.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "walk/advisor.h"
#include "walk/chain_walker.h"
#include "walk/witness.h"

namespace mixstack::walk {

// Of the engine's own frames only nested signal frames may have a caller at a lower sp; hostile CFI could loop there.
inline constexpr unsigned kMaxSignalFrames = 64;
// Users' steppers may lead down, too (from a coroutine's stack to its resumer's), and could lead in a circle.
inline constexpr unsigned kMaxStackSwitches = 1024;

inline StopReason stop_reason_for(const Error& e) {
  switch (e.code) {
    case ErrorCode::unreadable_memory:
      return StopReason::unreadable_memory;
    case ErrorCode::register_unknown:
      return StopReason::register_unknown;
    case ErrorCode::stack_not_advancing:
      return StopReason::stack_not_advancing;
    case ErrorCode::bad_return_address:
      return StopReason::bad_return_address;
    case ErrorCode::malformed:
    case ErrorCode::truncated:
    case ErrorCode::unsupported:
    case ErrorCode::limit_exceeded:
      return StopReason::malformed_unwind_info;
    default:
      return StopReason::no_unwind_info;
  }
}

inline bool is_uncertain(Trust t) { return t >= Trust::frame_pointer; }

/// With users' steppers among the owners: one that claims the frame but cannot step from it leaves it to the next;
/// when there is none, it has it.
[[nodiscard]] FrameStepper* claim_among_users(const Steppers& steppers, Cursor& cursor, const ThreadInput& thread);

/// The stepper whose code lies at the frame's pc, or null; it completes the frame.
inline FrameStepper* claim_frame(const Steppers& steppers, Cursor& cursor, const ThreadInput& thread) {
  if (!steppers.users.empty()) return claim_among_users(steppers, cursor, thread);
  for (FrameStepper* s : steppers.owners)
    if (s->claim(cursor.frame)) return s;
  cursor.frame.kind = FrameKind::undescribed;
  return nullptr;
}

/// One walk of one thread.
class WalkInProgress {
 public:
  WalkInProgress(const Steppers& steppers, const WalkOptions& limits, const ThreadInput& thread,
                 Advisor* advisor = nullptr)
      : steppers_(steppers), limits_(limits), thread_(thread), advisor_(advisor), witness_(thread.checkpoints) {
    trace_.tid = thread.tid;
    trace_.frames.reserve(48);
  }

  [[nodiscard]] Trace run() {
    while (step()) {
    }
    return std::move(trace_);
  }

  /// Finds one more frame; false when the walk has ended with the frames there are.
  bool step() {
    if (ended_) return false;
    if (!started_) start();
    settle_arrival();
    if (trace_.frames.size() >= std::min(limits_.max_frames, thread_.max_frames)) {
      const bool of_thread = thread_.max_frames < limits_.max_frames;
      stop(StopReason::max_frames, of_thread ? Error{ErrorCode::limit_exceeded, 0, thread_.max_frames} : Error{});
      ended_ = true;
      return false;
    }
    record();
    ended_ = !advance() && (is_final_ || !resume_if_stuck());
    return !ended_;
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }
  /// A single step from a frame found elsewhere, which must be the only use of this object.
  [[nodiscard]] StepOutcome step_from(Cursor& cursor) {
    started_ = true;
    here() = cursor;
    trust_ = cursor.frame.trust;
    owner_ = claim(here());
    record();
    StepOutcome outcome;
    if (advance()) {
      cursor = here();
      outcome = {.status = StepStatus::caller, .stepper = cursor.frame.found_by, .trust = step_trust_};
      outcome.caller_interrupted = cursor.frame.is_interrupted;
    } else if (trace_.stop == StopReason::end_of_stack) {
      outcome.status = StepStatus::end_of_stack;
    } else {
      outcome.status = StepStatus::failed;
      outcome.error = trace_.stop_error;
    }
    return outcome;
  }
  /// How many frames, from the innermost, no checkpoint can take back any more.
  [[nodiscard]] std::size_t settled() const {
    const std::size_t found = trace_.frames.size();
    if (ended_ || thread_.checkpoints.empty() || found == 0) return found;
    const std::size_t kept = in_native_run_ && witness_.way_out(run_sp_) != nullptr ? run_start_ : found;
    return kept == 0 ? 0 : kept - 1;
  }

 private:
  void start() {
    started_ = true;
    here().registers = thread_.registers;
    const auto sp = here().registers.sp();
    here().frame = Frame{.pc = CodeAddress::exact(here().registers.pc()), .sp = sp, .found_by = StepperId::initial};
    here().frame.is_interrupted = true;
    owner_ = claim(here());
  }

  [[nodiscard]] Cursor& here() { return cursors_[here_]; }
  [[nodiscard]] const Cursor& here() const { return cursors_[here_]; }
  [[nodiscard]] Cursor& proposed() { return cursors_[1 - here_]; }

  FrameStepper* claim(Cursor& cursor) const { return claim_frame(steppers_, cursor, thread_); }

  void stop(StopReason reason, const Error& error) {
    trace_.stop = reason;
    trace_.stop_error = error;
  }

  void record() {
    if (limits_.keep_registers) {
      trace_.registers.push_back(here().registers);
      here().frame.registers = static_cast<std::uint32_t>(trace_.registers.size());
    }
    if (here().frame.kind == FrameKind::managed) {
      in_native_run_ = false;
    } else if (!in_native_run_) {
      in_native_run_ = true;
      run_start_ = trace_.frames.size();
      run_sp_ = here().frame.sp;
      trust_before_run_ = trust_;
    }
    trace_.frames.push_back(here().frame);
    step_trusts_.push_back(step_trust_);
  }

  /// The chain proved right up to here: what was doubted only because of an earlier step is doubted no longer.
  void confirm() {
    for (; confirmed_ < trace_.frames.size(); confirmed_++) trace_.frames[confirmed_].trust = step_trusts_[confirmed_];
    trust_ = Trust::certain;
  }

  void explain(StepperId stepper, const Error& error) {
    if (!limits_.explain) return;
    trace_.evidence.push_back({stepper, error, static_cast<std::uint32_t>(trace_.frames.size() - 1)});
  }

  enum class Heard : unsigned char { nothing, caller, end };

  /// Asks the owner of the last frame, then the fallbacks, and the advisor in between, until one gives a caller that
  /// makes sense.
  bool advance() {
    first_error_ = {};
    if (advisor_ != nullptr) advisor_->begin(here(), trace_);
    Heard heard = advised(Advisor::Turn::first);
    if (heard == Heard::nothing && owner_ != nullptr) heard = asked(*owner_);
    if (heard == Heard::nothing) heard = advised(Advisor::Turn::middle);
    for (std::size_t i = 0; heard == Heard::nothing && i < steppers_.fallbacks.size(); i++)
      if (steppers_.fallbacks[i] != owner_) heard = asked(*steppers_.fallbacks[i]);
    if (heard == Heard::nothing) heard = advised(Advisor::Turn::last);
    if (heard == Heard::nothing) stop_stuck(first_error_);
    return heard == Heard::caller;
  }

  Heard asked(FrameStepper& stepper) {
    Cursor& next = proposed();
    next = here();
    const StepOutcome outcome = stepper.step(next, thread_);
    return hear(outcome, next);
  }

  Heard advised(Advisor::Turn turn) {
    if (advisor_ == nullptr) return Heard::nothing;
    for (;;) {
      Cursor& next = proposed();
      next = here();
      const StepOutcome outcome = advisor_->step(turn, next);
      const Heard heard = hear(outcome, next);
      if (heard != Heard::nothing || outcome.status == StepStatus::not_mine) return heard;
    }
  }

  /// What one of them answered; nothing: the next is asked.
  Heard hear(const StepOutcome& outcome, Cursor& next) {
    if (outcome.status == StepStatus::not_mine) return Heard::nothing;
    if (outcome.status == StepStatus::failed) return refuse(outcome, outcome.error, outcome.ends_walk);
    if (outcome.status == StepStatus::end_of_stack || (next.registers.pc() == 0 && !outcome.caller_interrupted)) {
      explain(outcome.stepper, {});
      stop(StopReason::end_of_stack, {});
      is_final_ = outcome.ends_walk;
      if (outcome.status == StepStatus::end_of_stack && outcome.trust == Trust::certain) confirm();
      return Heard::end;
    }
    const Error objection = check(next, outcome);
    if (objection.code != ErrorCode::none)
      return refuse(outcome, objection, outcome.elsewhere && objection.code == ErrorCode::limit_exceeded);
    explain(outcome.stepper, {});
    commit(next, outcome);
    return Heard::caller;
  }

  Heard refuse(const StepOutcome& outcome, const Error& error, bool finally) {
    explain(outcome.stepper, error);
    if (first_error_.code == ErrorCode::none) first_error_ = error;
    if (!finally) return Heard::nothing;
    is_final_ = true;
    stop(error.code == ErrorCode::limit_exceeded ? StopReason::max_frames : stop_reason_for(error), error);
    return Heard::end;
  }

  void stop_stuck(const Error& first) {
    const bool beyond = first.code == ErrorCode::unreadable_memory && thread_.stack_truncated &&
                        first.value >= thread_.stack_range.begin;
    if (beyond) {
      stop(StopReason::stack_truncated, first);
    } else if (first.code == ErrorCode::none) {
      stop(StopReason::no_unwind_info, Error{ErrorCode::no_unwind_info, 0, here().frame.pc.raw()});
    } else {
      stop(stop_reason_for(first), first);
    }
  }

  /// Does the proposed caller make sense? On success `next.frame` is its description.
  Error check(Cursor& next, const StepOutcome& outcome) {
    const bool sp_known = next.registers.is_known(arch_registers(next.registers.arch()).sp);
    const Address sp = sp_known ? next.registers.sp() : outcome.sp_at_least, from = here().frame.sp;
    const Address pc = next.registers.pc();
    if (outcome.caller_interrupted) {
      if (signal_frames_ >= kMaxSignalFrames) return {ErrorCode::limit_exceeded, 0, kMaxSignalFrames};
    } else {
      // A leaf function of a link-register CPU has no stack of its own, nor has code that was returned to (a
      // suspension's stub).
      const bool is_arm = next.registers.arch() == Arch::aarch64;
      const bool may_stay = here().frame.is_interrupted && (is_arm || outcome.trust == Trust::certain);
      const bool advances = sp > from || (sp == from && may_stay);
      if (!advances && !outcome.elsewhere) return {ErrorCode::stack_not_advancing, 0, sp};
      if (!advances && stack_switches_ >= kMaxStackSwitches) return {ErrorCode::limit_exceeded, 0, kMaxStackSwitches};
    }
    next.frame = Frame{.pc = outcome.caller_interrupted ? CodeAddress::exact(pc) : CodeAddress::after_call(pc),
                       .sp = sp,
                       .found_by = outcome.stepper};
    next.frame.is_interrupted = outcome.caller_interrupted;
    next_owner_ = claim(next);
    // An interrupted pc is where the CPU was, be it code or not; a return address must be code.
    const bool is_code = next_owner_ != nullptr || (advisor_ != nullptr && advisor_->knows(next.frame.pc.lookup()));
    if (!is_code && !outcome.caller_interrupted) return {ErrorCode::bad_return_address, 0, pc};
    return {};
  }

  void commit(Cursor& next, const StepOutcome& outcome) {
    if (outcome.caller_interrupted) {
      signal_frames_++;
      if (here().frame.kind == FrameKind::native) trace_.frames.back().kind = FrameKind::signal_trampoline;
    }
    if (outcome.elsewhere && next.frame.sp <= here().frame.sp) stack_switches_++;
    if (here().frame.kind == FrameKind::managed && !outcome.caller_interrupted) witness_.leave(next.frame.sp);
    trace_.frames.back().cfa = next.frame.sp;
    trace_.frames.back().stub_target = outcome.stub_target;
    step_trust_ = outcome.trust;
    trust_ = std::max(trust_, outcome.trust);
    next.frame.trust = trust_;
    here_ = 1 - here_;
    owner_ = next_owner_;
  }

  /// On arrival at a managed frame, asks the second witness; may go back and take its word instead.
  void settle_arrival() {
    if (leave_handlers_stack() || here().frame.kind != FrameKind::managed) return;
    switch (witness_.arrive(here().frame.sp)) {
      case Verdict::agrees:
        confirm();
        adopt_interruption(witness_.agreed());
        here().frame.trust = step_trust_ = Trust::certain;
        return;
      case Verdict::no_witness:
        if (in_native_run_ && is_uncertain(trust_) && !is_uncertain(trust_before_run_))
          if (const Checkpoint* c = witness_.way_out(run_sp_)) take_word_of(*c);
        return;
      case Verdict::missed:
        if (in_native_run_) {
          take_word_of(witness_.next());
          here().frame.witness_disagrees = true;
        } else {
          here().frame.witness_disagrees = true;
          witness_.resume_at(witness_.next());
        }
        return;
    }
  }

  /// A stack overflow is handled on a stack of its own, called from a fake frame at that stack's top: the pc it leads
  /// to is right and the sp is not. The Frame that was made on the handler's stack knows both.
  bool leave_handlers_stack() {
    if (!in_native_run_ || trace_.frames.empty()) return false;
    const Checkpoint* c = witness_.interruption(here().frame.pc.raw(), {run_sp_, here().frame.sp});
    if (c == nullptr || c->context.sp() == here().frame.sp) return false;
    witness_.resume_at(*c);
    adopt_interruption(*c);
    here().frame.sp = c->context.sp();
    trace_.frames.back().cfa = 0;
    confirm();
    here().frame.trust = step_trust_ = Trust::certain;
    return true;
  }

  /// A fault is dispatched on a fake call frame whose CFI restores only pc, sp and the frame pointer (CoreCLR's
  /// CallSignalHandlerWrapper): the other registers, and that the pc was interrupted, are known to the Frame alone.
  void adopt_interruption(const Checkpoint& c) {
    if (!c.interrupted) return;
    here().registers = c.context;
    here().frame.pc = CodeAddress::exact(c.context.pc());
    here().frame.is_interrupted = true;
    here().frame.explicit_frame = c.address;
    owner_ = claim(here());
  }

  bool resume_if_stuck() {
    const Address sp = in_native_run_ ? run_sp_ : here().frame.sp;
    const Checkpoint* c = witness_.way_out(sp);
    if (c == nullptr) return false;
    // A chain that ended properly above the checkpoint never met it; one that ended below it is simply stuck.
    const bool ended = trace_.stop == StopReason::end_of_stack;
    if (ended && c->context.sp() > here().frame.sp && trust_ == Trust::certain && !in_native_run_) return false;
    stop(StopReason::end_of_stack, {});
    take_word_of(*c);
    return true;
  }

  /// Drops the frames of this native run that lie above the checkpoint's sp and goes on from its registers.
  void take_word_of(const Checkpoint& c) {
    const Address sp = c.context.sp();
    const std::size_t keep = in_native_run_ ? run_start_ : trace_.frames.size();
    while (trace_.frames.size() > keep && trace_.frames.back().sp >= sp) drop_last();
    witness_.resume_at(c);
    here().registers = c.context;
    const Address pc = c.context.pc();
    here().frame = Frame{.pc = c.interrupted ? CodeAddress::exact(pc) : CodeAddress::after_call(pc),
                         .sp = sp,
                         .found_by = StepperId::explicit_frame};
    here().frame.is_interrupted = c.interrupted;
    here().frame.explicit_frame = c.address;
    owner_ = claim(here());
    trust_ = std::max(trust_before_run_, Trust::checkpoint);
    here().frame.trust = trust_;
    step_trust_ = Trust::checkpoint;
  }

  void drop_last() {
    if (trace_.frames.back().registers != 0) trace_.registers.pop_back();
    trace_.frames.pop_back();
    step_trusts_.pop_back();
    confirmed_ = std::min(confirmed_, trace_.frames.size());
    if (!trace_.frames.empty()) trace_.frames.back().cfa = 0;
  }

  const Steppers& steppers_;
  const WalkOptions& limits_;
  const ThreadInput& thread_;
  Advisor* advisor_;
  Witness witness_;
  Trace trace_;
  // A proposed caller is made beside the frame it is the caller of, which others are asked about when it makes no
  // sense; a cursor is 450 bytes, so that the one that is taken changes places instead of being copied.
  std::array<Cursor, 2> cursors_;
  unsigned here_ = 0;
  FrameStepper* owner_ = nullptr;
  FrameStepper* next_owner_ = nullptr;
  Trust trust_ = Trust::certain;       ///< of the chain up to the cursor
  Trust step_trust_ = Trust::certain;  ///< of the step that found the cursor's frame
  std::vector<Trust> step_trusts_;     ///< the same of each recorded frame
  std::size_t confirmed_ = 0;          ///< frames whose trust is settled
  Trust trust_before_run_ = Trust::certain;
  bool started_ = false, ended_ = false;
  bool is_final_ = false;  ///< the stop is a stepper's last word
  Error first_error_;      ///< why the first that was asked for this caller could not tell
  bool in_native_run_ = false;
  std::size_t run_start_ = 0;
  Address run_sp_ = 0;
  unsigned signal_frames_ = 0;
  unsigned stack_switches_ = 0;
};

}  // namespace mixstack::walk
