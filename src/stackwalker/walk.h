// The two ways to walk: by the engine, and by the documented loop for those who want none of our steppers.
#pragma once

#include "stackwalker/access.h"

namespace Dyninst::Stackwalker {

inline constexpr std::size_t kMaxTried = 1024;  // steppers for one frame

/// The default steppers of a Walker, in its group or not.
[[nodiscard]] std::set<FrameStepper*> own_steppers(const Walker& walker);
/// The group holds default steppers of ours: the engine walks, and users' steppers take part.
[[nodiscard]] bool is_engines(const Walker& walker);
/// It holds others besides, or is a user's own.
[[nodiscard]] bool has_users_steppers(const Walker& walker);

/// The captured thread, whole. First party: frames inside this library, which lie below `boundary`, are left out; 0:
/// none.
[[nodiscard]] std::shared_ptr<const FoundFrames> walk_whole(Walker& walker, const std::shared_ptr<Engine>& engine,
                                                            THR_ID tid, Address boundary);
/// The frames of a walk from one on. False, with the error set, when they do not reach the bottom.
[[nodiscard]] bool deliver(Walker& walker, const std::shared_ptr<const FoundFrames>& walk, std::size_t from,
                           std::vector<Frame>& out);
/// The walk that a frame is of, as long as nobody has changed the frame or the group since; null when there is none.
[[nodiscard]] std::shared_ptr<const FoundFrames> walk_around(Walker& walker, const Frame& frame, std::size_t& index);
/// From a frame outwards: as the walk that it is of, else by the engine's chain of steppers.
[[nodiscard]] bool walk_on(Walker& walker, const Frame& from, std::vector<Frame>& out);
[[nodiscard]] bool step_on(Walker& walker, const Frame& in, Frame& out);
/// The innermost frame of the captured thread, above `boundary`.
[[nodiscard]] bool find_top(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid, Address boundary,
                            Frame& out);

/// One stepper; what it throws counts as gcf_error.
[[nodiscard]] gcframe_ret_t ask_stepper(FrameStepper& stepper, const Frame& in, Frame& out);
/// The documented loop over the group's steppers: the caller of `in`.
[[nodiscard]] bool step_by_group(Walker& walker, const Frame& in, Frame& out);
/// `stack` holds the first frame.
[[nodiscard]] bool walk_by_group(Walker& walker, std::vector<Frame>& stack);

/// Calls preStackwalk, and postStackwalk when it ends; nested ones of a Walker only count.
class StopScope {
 public:
  StopScope(Walker& walker, THR_ID thread);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  /// False with the error set.
  [[nodiscard]] explicit operator bool() const { return ok_; }

 private:
  Walker& walker_;
  THR_ID thread_;
  bool ok_ = true;
  bool called_ = false;
};

}  // namespace Dyninst::Stackwalker
