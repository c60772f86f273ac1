// The two ways to walk: by the engine, and by the manual's loop for groups with none of our steppers.
#pragma once

#include "frontends/stackwalker/access.h"

namespace Dyninst::Stackwalker {

inline constexpr std::size_t kMaxTried = 1024;  // steppers for one frame

/// The default steppers of a Walker, in its group or not.
[[nodiscard]] std::set<FrameStepper*> own_steppers(const Walker& walker);
/// Whether the group has default steppers of ours: then the engine walks, and users' steppers take part.
[[nodiscard]] bool is_engines(const Walker& walker);
/// Whether it has other steppers too, or is a user's own group.
[[nodiscard]] bool has_users_steppers(const Walker& walker);

/// Walks the whole captured thread. First party: leaves out frames inside this library, which lie below `boundary`; 0:
/// none.
[[nodiscard]] std::shared_ptr<const FoundFrames> walk_whole(Walker& walker, const std::shared_ptr<Engine>& engine,
                                                            THR_ID tid, Address boundary);
/// The frames of a walk from index `from` on. False, with the error set, if they do not reach the bottom.
[[nodiscard]] bool deliver(Walker& walker, const std::shared_ptr<const FoundFrames>& walk, std::size_t from,
                           std::vector<Frame>& out);
/// The walk that found a frame, unless the frame or the group has changed since; null: none.
[[nodiscard]] std::shared_ptr<const FoundFrames> walk_around(Walker& walker, const Frame& frame, std::size_t& index);
/// Walks outwards from a frame: by repeating the walk that found it, else by the engine's chain of steppers.
[[nodiscard]] bool walk_on(Walker& walker, const Frame& from, std::vector<Frame>& out);
[[nodiscard]] bool step_on(Walker& walker, const Frame& in, Frame& out);
/// The innermost frame of the captured thread, above `boundary`.
[[nodiscard]] bool find_top(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid, Address boundary,
                            Frame& out);

/// Asks one stepper; an exception counts as gcf_error.
[[nodiscard]] gcframe_ret_t ask_stepper(FrameStepper& stepper, const Frame& in, Frame& out);
/// The manual's loop over the group's steppers: the caller of `in`.
[[nodiscard]] bool step_by_group(Walker& walker, const Frame& in, Frame& out);
/// `stack` has the first frame when called.
[[nodiscard]] bool walk_by_group(Walker& walker, std::vector<Frame>& stack);

/// Calls preStackwalk, and postStackwalk at its end; nested scopes of a Walker are only counted.
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
