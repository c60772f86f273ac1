#include "frontends/stackwalker/group_advisor.h"

#include <algorithm>

#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/walk.h"

namespace Dyninst::Stackwalker {

using mixstack::ErrorCode;
using mixstack::StepOutcome;
using mixstack::StepperId;
using mixstack::StepStatus;

GroupAdvisor::GroupAdvisor(Walker& walker, std::shared_ptr<Engine> engine, THR_ID tid, Address boundary)
    : walker_(walker), engine_(std::move(engine)), tid_(tid), boundary_(boundary), ours_(own_steppers(walker)) {}

/// All steppers that the group returns for an address, in order. False, with the error set, if the group throws.
bool GroupAdvisor::list(Address address, std::vector<FrameStepper*>& out) {
  try {
    while (out.size() < kMaxTried) {
      FrameStepper* stepper = nullptr;
      const FrameStepper* last = out.empty() ? nullptr : out.back();
      if (!walker_.getStepperGroup()->findStepperForAddr(address, stepper, last) || stepper == nullptr) break;
      if (std::find(out.begin(), out.end(), stepper) != out.end()) break;
      out.push_back(stepper);
    }
    return true;
  } catch (...) {
    return failed(err_internal, "the StepperGroup threw an exception");
  }
}

bool GroupAdvisor::knows(Address code) {
  std::vector<FrameStepper*> there, everywhere;
  if (!list(code, there) || !list(0, everywhere)) return false;
  return std::any_of(there.begin(), there.end(), [&](FrameStepper* s) {
    return !ours_.contains(s) && std::find(everywhere.begin(), everywhere.end(), s) == everywhere.end();
  });
}

/// Lists the steppers to ask for the caller of the last frame, by turn.
void GroupAdvisor::begin(const mixstack::Cursor& cursor, const mixstack::Trace& so_far) {
  follow(so_far);
  for (auto& turn : turns_) turn.clear();
  users_decide_ = was_refused_ = false;
  if (cursor.frame.sp < boundary_) return;
  std::vector<FrameStepper*> all;
  if (!list(cursor.frame.pc.lookup(), all)) {
    (void)give_up(err_internal, nullptr);
    return;
  }
  const auto is_ours = [this](FrameStepper* s) { return ours_.contains(s); };
  const auto begin = std::find_if(all.begin(), all.end(), is_ours);
  const auto end = std::find_if(all.rbegin(), all.rend(), is_ours).base();
  users_decide_ = begin == all.end();
  const auto pivot = std::find(begin, all.end(), &WalkerAccess::parts(walker_).defaults->debug);
  const auto first_end = pivot != all.end() ? pivot : begin;
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (is_ours(*at)) continue;
    const Turn turn = at < first_end ? Turn::first : at < end ? Turn::middle : Turn::last;
    turns_[static_cast<std::size_t>(turn)].push_back(*at);
  }
}

/// Follows the walk, which may have gone back since.
void GroupAdvisor::follow(const mixstack::Trace& so_far) {
  const auto& frames = so_far.frames;
  if (places_.empty() && in_) return;  // a single step
  in_.reset();
  while (places_.size() >= frames.size()) places_.pop_back();
  while (!places_.empty() && (places_.back().frame.pc != frames[places_.size() - 1].pc ||
                              places_.back().frame.sp != frames[places_.size() - 1].sp))
    places_.pop_back();
  while (places_.size() < frames.size()) {
    const mixstack::Frame& frame = frames[places_.size()];
    const mixstack::Registers* registers = mixstack::stackwalker::registers_of(so_far, frame);
    const FramePlace* callee = places_.empty() ? nullptr : &places_.back();
    places_.push_back(engine_->place_of(frame, registers != nullptr ? *registers : mixstack::Registers(), callee));
  }
}

/// The last frame in the API's terms.
Frame GroupAdvisor::present(const mixstack::Cursor& cursor) {
  FrameOrigin origin{places_.back(), stepper_of(walker_, cursor.frame), tid_, nullptr};
  const bool has_callee = places_.size() > 1 && places_[places_.size() - 2].frame.sp >= boundary_;
  if (has_callee) complete(places_[places_.size() - 2], origin);
  if (!has_callee && boundary_ != 0) make_innermost(origin.place);
  Frame frame = FrameAccess::make(&walker_, engine_, origin.place, origin.thread, origin.stepper);
  if (!has_callee) FrameAccess::mark_top(frame);
  return frame;
}

StepOutcome GroupAdvisor::step(Turn turn, mixstack::Cursor& cursor) {
  if (error_ != 0) return {.status = StepStatus::failed, .error = {ErrorCode::internal, 0, 0}, .ends_walk = true};
  auto& left = turns_[static_cast<std::size_t>(turn)];
  while (!left.empty()) {
    if (!in_) in_ = present(cursor);
    FrameStepper* stepper = left.front();
    left.pop_front();
    const StepOutcome answer = ask(*stepper, cursor);
    if (answer.status == StepStatus::not_mine) continue;
    was_refused_ = true;  // for the message, should it be asked again
    return answer;
  }
  if (turn != Turn::first || !users_decide_) return {};
  return give_up(err_nostepper, was_refused_ ? "stack cut: no stepper's caller makes sense" : nullptr);
}

StepOutcome GroupAdvisor::ask(FrameStepper& stepper, mixstack::Cursor& cursor) {
  clearLastError();
  Frame caller(&walker_);
  caller.setThread(in_->getThread());
  switch (ask_stepper(stepper, *in_, caller)) {
    case gcf_success:
      return believe(stepper, caller, cursor);
    case gcf_stackbottom:
      return {.status = StepStatus::end_of_stack, .stepper = StepperId::user, .ends_walk = true};
    case gcf_not_me:
      return {};
    case gcf_error:
      return give_up(err_internal, "a FrameStepper answered gcf_error");
  }
  clearLastError();
  return give_up(err_internal, "a FrameStepper answered what is no gcframe_ret_t");
}

StepOutcome GroupAdvisor::believe(FrameStepper& stepper, Frame& caller, mixstack::Cursor& cursor) {
  StepOutcome outcome{.status = StepStatus::caller, .stepper = StepperId::user};
  if (!caller.isFrameComplete() || caller.getRA() == 0)
    return {.status = StepStatus::failed,
            .error = {ErrorCode::bad_return_address, 0, caller.getRA()},
            .stepper = StepperId::user};
  const auto origin = FrameAccess::origin(caller);
  if (origin && origin->found->capture_id == engine_->capture_id() && FrameAccess::is_as_found(caller)) {
    // One of our own steppers found it, and knows more registers than three.
    cursor.registers = origin->place.registers;
    outcome.trust = origin->place.frame.trust;
  } else {
    cursor.registers = mixstack::Registers(cursor.registers.arch());
    cursor.registers.set_pc(caller.getRA());
    cursor.registers.set_sp(caller.getSP());
    cursor.registers.set_fp(caller.getFP());
  }
  outcome.caller_interrupted = caller.nonCall();
  outcome.elsewhere = true;
  mixstack::Frame to;
  to.pc = mixstack::CodeAddress::exact(caller.getRA());
  to.sp = caller.getSP();
  found_.insert_or_assign(step_between(cursor.frame, to), std::pair(std::move(caller), &stepper));
  return outcome;
}

StepOutcome GroupAdvisor::give_up(err_t code, const char* text) {
  if (getLastError() == 0 || code == err_nostepper) setLastError(code, text);
  error_ = getLastError();
  error_text_ = getLastErrorMsg();
  return {.status = StepStatus::failed, .error = {ErrorCode::internal, 0, 0}, .ends_walk = true};
}

GroupAdvisor::Step GroupAdvisor::step_between(const mixstack::Frame& from, const mixstack::Frame& to) {
  return {from.pc.raw(), from.sp, to.pc.raw(), to.sp};
}

void GroupAdvisor::complete(const FramePlace& from, FrameOrigin& to) const {
  if (to.place.frame.found_by != StepperId::user) return;
  const auto at = found_.find(step_between(from.frame, to.place.frame));
  if (at == found_.end()) return;
  const Frame& said = at->second.first;
  const mixstack::Arch arch = to.place.registers.arch();
  to.place.ra = engine_location(arch, said.getRALocation());
  to.place.sp = engine_location(arch, said.getSPLocation());
  to.place.fp = engine_location(arch, said.getFPLocation());
  if (said.getThread() != NULL_THR_ID) to.thread = said.getThread();
  to.stepper = at->second.second;
}

}  // namespace Dyninst::Stackwalker
