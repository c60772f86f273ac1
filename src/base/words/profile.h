// Many stacks over a time, counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/frame.h"

namespace mixstack {

/// The state of a thread when it was sampled.
enum class SampleState : std::uint8_t {
  cpu,      ///< it had used a period of CPU time
  running,  ///< a period of time was over, and it ran or could have run
  waiting,  ///< a period of time was over, and it waited
};
inline constexpr SampleState kLastSampleState = SampleState::waiting;
[[nodiscard]] std::string_view word_of(SampleState);

/// A frame's kind and names.
struct ProfileFrame {
  FrameKind kind = FrameKind::native;
  std::string name;                                                             ///< never empty
  std::string module;                                                           ///< short name of its file; empty: none
  friend auto operator<=>(const ProfileFrame&, const ProfileFrame&) = default;  // NOLINT(modernize-use-nullptr): its 0
};

/// Samples taken and samples lost.
struct ProfileAccount {
  std::uint64_t samples = 0;      ///< stacks taken
  std::uint64_t cut = 0;          ///< of those: their end was not reached
  std::uint64_t lost = 0;         ///< no room for them
  std::uint64_t postponed = 0;    ///< threads that the budget of a wall-clock tick left for a later one
  std::uint64_t missed = 0;       ///< wall-clock ticks that came too late
  std::uint64_t lost_on_way = 0;  ///< taken, but the recorder was too slow to accept them
};

/// Stacks by thread, state and frames. Grows with distinct stacks, within bounds. Not thread-safe.
class Profile {
 public:
  static constexpr std::size_t kMostStacks = 1u << 19;
  static constexpr std::size_t kMostPlaces = 1u << 24;  ///< frames of all distinct stacks together: 64 MiB
  static constexpr std::size_t kMostFrames = 1u << 18;  ///< distinct ones
  static constexpr std::size_t kFewFrames = 254;        ///< kept of a stack where room is short

  struct Stack {
    std::uint32_t tid = 0;
    SampleState state = SampleState::cpu;
    StopReason stop = StopReason::end_of_stack;
    std::vector<std::uint32_t> frames;  ///< indices of `frames()`, innermost first
    /// So many of the outermost frames were found through an uncertain step: each of them may be wrong.
    std::uint32_t doubtful = 0;
    friend auto operator<=>(const Stack&, const Stack&) = default;  // NOLINT(modernize-use-nullptr): its 0
    /// Keeps the innermost frames, at most so many, and sets `stop` to max_frames.
    void shorten(std::size_t most);
  };

  // Facts about the whole profile; plain data.
  std::uint32_t pid = 0;
  std::string runtime;  ///< version, empty: none
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;
  std::uint64_t duration = 0;  ///< ns
  ProfileAccount account;
  std::map<std::uint32_t, std::string> threads;  ///< names by tid

  /// The index of a frame, added if it is new; nothing: no room.
  [[nodiscard]] std::optional<std::uint32_t> frame(const ProfileFrame& frame);
  /// Counts a stack. Its frames must be indices of `frames()`. False: no room.
  bool add(Stack stack, std::uint64_t weight);

  /// Half of the room for frames is used: deep stacks should be shortened, to leave room for others.
  [[nodiscard]] bool is_crowded() const { return places_ > kMostPlaces / 2; }
  [[nodiscard]] const std::vector<ProfileFrame>& frames() const { return frames_; }
  [[nodiscard]] const std::map<Stack, std::uint64_t>& stacks() const { return stacks_; }

 private:
  std::vector<ProfileFrame> frames_;
  std::map<ProfileFrame, std::uint32_t> numbers_;
  std::map<Stack, std::uint64_t> stacks_;
  std::size_t places_ = 0;
};

}  // namespace mixstack
