// Which samples and frames the options select, for every view of a recording.
#pragma once

#include <cstdint>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack {

class StackJudge {
 public:
  /// Looks at every function and every stack once. Borrows both.
  StackJudge(const Recording& recording, const ProfileOptions& options);

  /// Whether the frame is shown, if its stack is.
  [[nodiscard]] bool is_shown(std::uint32_t frame) const;
  /// Whether the patterns select the stack.
  [[nodiscard]] bool is_wanted(std::uint32_t stack) const {
    return (stacks_[stack] & (kIncluded | kExcluded)) == kIncluded;
  }
  [[nodiscard]] bool has_shown_frames(std::uint32_t stack) const { return (stacks_[stack] & kHasShown) != 0; }
  /// Whether the thread's activity is selected.
  [[nodiscard]] bool is_seen(const SampleContext& context) const;

 private:
  static constexpr std::uint8_t kIncluded = 1, kExcluded = 2, kHasShown = 4;
  void judge_functions();

  const Recording& recording_;
  const ProfileOptions& options_;
  std::vector<std::uint8_t> functions_, stacks_;
};

/// Activity in which a thread neither uses nor wants a CPU.
[[nodiscard]] bool waits(Activity activity);

}  // namespace mixstack
