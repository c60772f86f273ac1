// Users' steppers in the engine's walk.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/walk/advisor.h"
#include "frontends/stackwalker/access.h"

namespace Dyninst::Stackwalker {

/// The default stepper that stands for a frame found by the engine; null: none.
[[nodiscard]] FrameStepper* stepper_of(Walker& walker, const mixstack::Frame& frame);
/// Makes a frame the innermost: in the function that called us, pc, sp and callee-saved registers are those of a
/// running frame.
void make_innermost(FramePlace& place);

/// Asks the users' steppers of a Walker's group, in the group's order. Those before our DebugStepper come first, those
/// between our steppers between the frame's owner and the fallbacks, those after ours last. If the group has none of
/// ours, the users' steppers decide alone. For one walk or one step.
class GroupAdvisor final : public mixstack::walk::Advisor {
 public:
  /// First party: frames below `boundary` are the library's own and not shown to users' steppers; 0: none.
  GroupAdvisor(Walker& walker, std::shared_ptr<Engine> engine, THR_ID tid, Address boundary);
  /// Call before a single step from a frame that was found elsewhere.
  void begin_at(const Frame& frame) { in_ = frame; }

  void begin(const mixstack::Cursor& cursor, const mixstack::Trace& so_far) override;
  [[nodiscard]] mixstack::StepOutcome step(Turn turn, mixstack::Cursor& cursor) override;
  /// Whether a user's stepper is registered for this address in particular, not just for all addresses.
  [[nodiscard]] bool knows(Address code) override;

  /// If a user's stepper found `to.place` from `from`: adds the locations, thread and stepper that it gave.
  void complete(const FramePlace& from, FrameOrigin& to) const;
  /// Why a user's stepper ended the walk; 0: none did.
  [[nodiscard]] err_t error() const { return error_; }
  [[nodiscard]] const std::string& error_text() const { return error_text_; }

 private:
  using Step = std::tuple<Address, Address, Address, Address>;  ///< pc and sp, from and to
  [[nodiscard]] static Step step_between(const mixstack::Frame& from, const mixstack::Frame& to);
  [[nodiscard]] bool list(Address address, std::vector<FrameStepper*>& out);
  void follow(const mixstack::Trace& so_far);
  [[nodiscard]] Frame present(const mixstack::Cursor& cursor);
  [[nodiscard]] mixstack::StepOutcome ask(FrameStepper& stepper, mixstack::Cursor& cursor);
  [[nodiscard]] mixstack::StepOutcome believe(FrameStepper& stepper, Frame& caller, mixstack::Cursor& cursor);
  [[nodiscard]] mixstack::StepOutcome give_up(err_t code, const char* text);

  Walker& walker_;
  std::shared_ptr<Engine> engine_;
  THR_ID tid_;
  Address boundary_;
  std::set<FrameStepper*> ours_;
  std::optional<Frame> in_;             ///< the frame whose caller is sought, in the API's terms
  std::vector<FramePlace> places_;      ///< of the frames walked so far
  std::deque<FrameStepper*> turns_[3];  ///< steppers still to ask for it
  bool users_decide_ = false;           ///< the group has none of our steppers for it
  bool was_refused_ = false;
  std::map<Step, std::pair<Frame, FrameStepper*>> found_;
  err_t error_ = 0;
  std::string error_text_;
};

}  // namespace Dyninst::Stackwalker
