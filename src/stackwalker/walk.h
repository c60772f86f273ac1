// The two ways to walk.
#pragma once

#include "stackwalker/access.h"

namespace Dyninst::Stackwalker {

inline constexpr std::size_t kMaxFrames = 65536;

/// Nobody has added steppers: the engine walks as a whole.
[[nodiscard]] bool is_default_group(const Walker& walker);

/// The captured thread. First party: frames inside this library, which lie below `boundary`, are left out; 0: none.
[[nodiscard]] bool walk_whole(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid, Address boundary,
                              std::vector<Frame>& out);
/// From a frame outwards by the engine's chain of steppers.
[[nodiscard]] bool walk_on(Walker& walker, const Frame& from, std::vector<Frame>& out);
[[nodiscard]] bool step_on(Walker& walker, const Frame& in, Frame& out);
/// The innermost frame of the captured thread, above `boundary`.
[[nodiscard]] bool find_top(Walker& walker, const std::shared_ptr<Engine>& engine, THR_ID tid, Address boundary,
                            Frame& out);

/// The documented loop over the group's steppers: the caller of `in`.
[[nodiscard]] bool step_by_group(Walker& walker, const Frame& in, Frame& out);
/// `stack` holds the first frame.
[[nodiscard]] bool walk_by_group(Walker& walker, std::vector<Frame>& stack);

/// Which default stepper a frame stands for that the engine found.
[[nodiscard]] FrameStepper* stepper_of(Walker& walker, const mixstack::Frame& frame);

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
