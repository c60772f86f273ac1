// One walk of one thread by a chain of steppers, frame by frame.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/walk/advisor.h"
#include "engine/walk/chain_walker.h"
#include "engine/walk_core/walk_core.h"

namespace mixstack::walk {

/// For chains with users' owners: a user's stepper that claims the frame but cannot step from it leaves it to the next
/// one that claims it; without a next one, it keeps the frame.
[[nodiscard]] FrameStepper* claim_among_users(const Steppers& steppers, Cursor& cursor, const ThreadInput& thread);

/// The owner of the code at the frame's pc, or null; it completes the frame.
inline FrameStepper* claim_frame(const Steppers& steppers, Cursor& cursor, const ThreadInput& thread) {
  if (!steppers.users.empty()) return claim_among_users(steppers, cursor, thread);
  for (FrameStepper* s : steppers.owners)
    if (s->claim(cursor.frame)) return s;
  cursor.frame.kind = FrameKind::undescribed;
  return nullptr;
}

inline constexpr std::size_t kUsualFrames = 16;  ///< reserved in advance

/// Asks the owner of each frame, then the fallbacks, and an advisor in between; the core decides which answer to
/// accept.
class WalkInProgress {
 public:
  WalkInProgress(const Steppers& steppers, const WalkOptions& limits, const ThreadInput& thread,
                 Advisor* advisor = nullptr)
      : steppers_(steppers),
        limits_(limits),
        thread_(thread),
        advisor_(advisor),
        core_(*this, thread.checkpoints, {thread.stack_range, thread.stack_truncated}) {
    trace_.tid = thread.tid;
    trace_.frames.reserve(kUsualFrames);
    step_trusts_.reserve(kUsualFrames);
  }
  WalkInProgress(const WalkInProgress&) = delete;
  WalkInProgress& operator=(const WalkInProgress&) = delete;

  [[nodiscard]] Trace run() {
    while (step()) {
    }
    return std::move(trace_);
  }

  /// Finds one more frame; false: the walk has ended.
  bool step() {
    if (ended_) return false;
    if (!started_) start();
    core_.settle_arrival(here());
    if (trace_.frames.size() >= std::min(limits_.max_frames, thread_.max_frames)) {
      const bool of_thread = thread_.max_frames < limits_.max_frames;
      core_.stop(StopReason::max_frames, of_thread ? Error{ErrorCode::limit_exceeded, 0, thread_.max_frames} : Error{});
      return !end();
    }
    core_.record(here());
    if (advance() || core_.resume_if_stuck(here())) return true;
    return !end();
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }

  /// A single step from a frame found elsewhere, which must be the only use of this object. `only`: the only stepper to
  /// ask.
  [[nodiscard]] StepOutcome step_from(Cursor& cursor, FrameStepper* only = nullptr) {
    here() = cursor;
    core_.begin_at(here());
    core_.record(here());
    StepOutcome outcome;
    const Heard heard = only != nullptr ? asked(*only) : sought();
    if (heard == Heard::caller) {
      cursor = here();
      outcome = {.status = StepStatus::caller, .stepper = cursor.frame.found_by, .trust = core_.step_trust()};
      outcome.caller_interrupted = cursor.frame.is_interrupted;
      return outcome;
    }
    if (heard == Heard::nothing && only != nullptr && is_not_mine_) return outcome;
    if (heard == Heard::nothing) core_.stop_stuck(here());
    (void)end();
    if (trace_.stop == StopReason::end_of_stack) {
      outcome.status = StepStatus::end_of_stack;
    } else {
      outcome.status = StepStatus::failed;
      outcome.error = trace_.stop_error;
    }
    return outcome;
  }
  /// Number of frames, from the innermost, that no checkpoint can remove any more.
  [[nodiscard]] std::size_t settled() const { return ended_ ? trace_.frames.size() : core_.settled(); }

 private:
  friend WalkCore<WalkInProgress>;

  void start() {
    started_ = true;
    here().registers = thread_.registers;
    core_.begin(here());
  }
  bool end() {
    trace_.stop = core_.stop_reason();
    trace_.stop_error = core_.stop_error();
    return ended_ = true;
  }

  [[nodiscard]] Cursor& here() { return cursors_[here_]; }
  [[nodiscard]] Cursor& proposed() { return cursors_[1 - here_]; }

  [[nodiscard]] bool advance() {
    const Heard heard = sought();
    if (heard == Heard::nothing) core_.stop_stuck(here());
    return heard == Heard::caller;
  }

  /// Asks the owner of the last frame, then the fallbacks, and the advisor in between, until a caller is accepted.
  [[nodiscard]] Heard sought() {
    if (advisor_ != nullptr) advisor_->begin(here(), trace_);
    Heard heard = advised(Advisor::Turn::first);
    if (heard == Heard::nothing && owner_ != nullptr) heard = asked(*owner_);
    if (heard == Heard::nothing) heard = advised(Advisor::Turn::middle);
    for (std::size_t i = 0; heard == Heard::nothing && i < steppers_.fallbacks.size(); i++)
      if (steppers_.fallbacks[i] != owner_) heard = asked(*steppers_.fallbacks[i]);
    if (heard == Heard::nothing) heard = advised(Advisor::Turn::last);
    return heard;
  }

  [[nodiscard]] Heard asked(FrameStepper& stepper) {
    Cursor& next = proposed();
    next = here();
    const StepOutcome outcome = stepper.step(next, thread_);
    is_not_mine_ = outcome.status == StepStatus::not_mine;
    return heard(outcome, next);
  }

  [[nodiscard]] Heard advised(Advisor::Turn turn) {
    if (advisor_ == nullptr) return Heard::nothing;
    for (;;) {
      Cursor& next = proposed();
      next = here();
      const StepOutcome outcome = advisor_->step(turn, next);
      const Heard answer = heard(outcome, next);
      if (answer != Heard::nothing || outcome.status == StepStatus::not_mine) return answer;
    }
  }

  [[nodiscard]] Heard heard(const StepOutcome& outcome, Cursor& next) {
    const Heard answer = core_.hear(here(), next, outcome);
    if (answer == Heard::caller) here_ = 1 - here_;
    return answer;
  }

  // The host interface of the core.
  [[nodiscard]] std::size_t size() const { return trace_.frames.size(); }
  [[nodiscard]] Frame& last() { return trace_.frames.back(); }
  void record(Cursor& cursor, Trust step) {
    if (limits_.keep_registers) {
      trace_.registers.push_back(cursor.registers);
      cursor.frame.registers = static_cast<std::uint32_t>(trace_.registers.size());
    }
    trace_.frames.push_back(cursor.frame);
    step_trusts_.push_back(step);
  }
  void drop_last() {
    if (trace_.frames.back().registers != 0) trace_.registers.pop_back();
    trace_.frames.pop_back();
    step_trusts_.pop_back();
    confirmed_ = std::min(confirmed_, trace_.frames.size());
    if (!trace_.frames.empty()) trace_.frames.back().cfa = 0;
  }
  void confirm() {
    for (; confirmed_ < trace_.frames.size(); confirmed_++) trace_.frames[confirmed_].trust = step_trusts_[confirmed_];
  }
  [[nodiscard]] bool claim(Cursor& cursor) {
    claimed_ = claim_frame(steppers_, cursor, thread_);
    return claimed_ != nullptr || (advisor_ != nullptr && advisor_->knows(cursor.frame.pc.lookup()));
  }
  void keep_claim() { owner_ = claimed_; }
  void explain(StepperId stepper, const Error& error) {
    if (!limits_.explain) return;
    trace_.evidence.push_back({stepper, error, static_cast<std::uint32_t>(trace_.frames.size() - 1)});
  }

  const Steppers& steppers_;
  const WalkOptions& limits_;
  const ThreadInput& thread_;
  Advisor* advisor_;
  Trace trace_;
  WalkCore<WalkInProgress> core_;
  // A proposed caller is made beside the current frame, from which others are asked if it is rejected. A cursor has 450
  // bytes: an accepted one is swapped, not copied.
  std::array<Cursor, 2> cursors_;
  unsigned here_ = 0;
  FrameStepper* owner_ = nullptr;    ///< of the current frame
  FrameStepper* claimed_ = nullptr;  ///< of the last proposed frame
  std::vector<Trust> step_trusts_;   ///< how sure the step to each recorded frame was
  std::size_t confirmed_ = 0;        ///< frames whose trust is settled
  bool started_ = false, ended_ = false;
  bool is_not_mine_ = false;  ///< the last stepper's answer
};

}  // namespace mixstack::walk
