// Which samples and which frames options ask for: what every view of a recording is decided by.
#pragma once

#include <cstdint>
#include <vector>

#include "model/recording_view.h"

namespace mixstack {

class StackJudge {
 public:
  /// Looks at every function and every stack once. Both are borrowed.
  StackJudge(const Recording& recording, const ProfileOptions& options);

  /// Whether a frame of it is shown where its stack is.
  [[nodiscard]] bool is_shown(std::uint32_t frame) const;
  /// Whether patterns ask for the stack.
  [[nodiscard]] bool is_wanted(std::uint32_t stack) const {
    return (stacks_[stack] & (kIncluded | kExcluded)) == kIncluded;
  }
  [[nodiscard]] bool has_shown_frames(std::uint32_t stack) const { return (stacks_[stack] & kHasShown) != 0; }
  /// Whether what its thread did is asked for.
  [[nodiscard]] bool is_seen(const SampleContext& context) const;

 private:
  static constexpr std::uint8_t kIncluded = 1, kExcluded = 2, kHasShown = 4;
  void judge_functions();

  const Recording& recording_;
  const ProfileOptions& options_;
  std::vector<std::uint8_t> functions_, stacks_;
};

/// Activity in which a thread uses no processor and wants none.
[[nodiscard]] bool waits(Activity activity);

}  // namespace mixstack
