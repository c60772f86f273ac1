// What of a recording is shown: which of its samples, and which frames of their stacks, in which direction. The one
// step between a recording and every picture, table and file made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/recording.h"

namespace mixstack {

struct ProfileOptions {
  /// Nothing: the one that there are samples of; of both the processor's, unless waiting is to be seen.
  std::optional<SampleClock> clock{};
  bool every_clock = false;            ///< samples of all clocks at once: for formats that tell them apart
  bool idle = false;                   ///< samples of waiting threads count, too
  std::uint8_t activities = 0;         ///< those to be seen, each as `activity_bit`; 0: as `idle` says
  bool gc_only = false;                ///< only while the runtime was stopping its threads, or had
  bool by_thread = false;              ///< every stack begins with its thread
  bool by_process = true;              ///< with its process, where there are several
  bool managed_only = false;           ///< frames of managed methods alone
  bool kernel = true;                  ///< frames of the kernel, where they were recorded
  bool inverted = false;               ///< from the function that was running to its callers
  std::vector<std::string> include{};  ///< only stacks with a function that one of these matches (name_pattern.h)
  std::vector<std::string> exclude{};  ///< no stack with a function that one of these matches
};

[[nodiscard]] constexpr std::uint8_t activity_bit(Activity activity) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(activity));
}
/// The clock whose samples are shown. Nothing: there are no samples.
[[nodiscard]] std::optional<SampleClock> shown_clock(const Recording& recording, const ProfileOptions& options);
/// Those of two that are compared: one that both have samples of; where there is none, or one
/// of both knows no rate (folded stacks), each one's own.
[[nodiscard]] std::pair<std::optional<SampleClock>, std::optional<SampleClock>> compared_clocks(
    const Recording& before, const Recording& after, const ProfileOptions& options);

/// What frames of a view are told apart by.
enum class ViewDetail : std::uint8_t {
  functions,  ///< shown name and kind
  frames,     ///< addresses and lines, too
};

/// One box of a picture. Threads, processes and remarks ("[cut: ...]") are such, too, and no function then.
struct ViewEntry {
  std::string name{};  ///< never empty; control characters are escaped, nothing else
  CodeKind kind = CodeKind::unknown;
  std::uint32_t function = kNoIndex;  ///< of the recording; the first of those that are shown alike
  std::uint32_t frame = kNoIndex;     ///< with ViewDetail::frames
};

/// Node 0 is the root and stands for nothing. Parents come before children: outermost frames first, of an inverted view
/// innermost.
struct ViewNode {
  std::uint32_t parent = 0;  ///< always less than the node's own number
  std::uint32_t entry = 0;
};

struct ViewSample {
  std::uint64_t time_ns = 0;
  std::uint32_t node = 0;
  std::uint32_t context = 0;  ///< of the recording
  std::uint32_t count = 1;    ///< periods
};

struct RecordingView {
  static constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 27;

  std::vector<ViewEntry> entries{};
  std::vector<ViewNode> nodes{};
  std::vector<ViewSample> samples{};  ///< in order of time
  std::optional<SampleClock> clock{};
  std::uint64_t period_ns = 0;      ///< what a count stands for; 0: not known, weights are counts then
  std::uint64_t shown = 0;          ///< sum of counts
  std::uint64_t left_out = 0;       ///< counts of this clock that the options leave out
  std::uint64_t idle_left_out = 0;  ///< of those: threads that waited
  std::uint64_t too_many = 0;       ///< of `shown`: in the box "[too many different stacks]"

  /// Nanoseconds or, where the period is not known, counts. No overflow: stays at the greatest number.
  [[nodiscard]] std::uint64_t weight(std::uint64_t count) const;
  /// By node: counts of samples that end there.
  [[nodiscard]] std::vector<std::uint64_t> self_counts() const;
  /// By node: with all below.
  [[nodiscard]] std::vector<std::uint64_t> total_counts() const;
};

/// Takes time and memory for every node of the recording and every sample, and within fixed bounds for whatever is made
/// of them (an inverted view of deep recursion, a tree for each of thousands of threads): not more than kMostPlaces
/// boxes in all stacks that samples of different contexts have.
[[nodiscard]] RecordingView view_of(const Recording& recording, const ProfileOptions& options,
                                    ViewDetail detail = ViewDetail::functions);

/// Counts of a view in which threads did this.
[[nodiscard]] std::uint64_t count_of(const Recording& recording, const RecordingView& view, Activity activity);

/// "worker [dotnet, tid 12]": how threads are called in pictures. Of stacks without threads (folded ones): as their
/// process.
[[nodiscard]] std::string shown_thread(const Recording& recording, std::uint32_t thread);
/// "app.dll (4711)"; of stacks without a process what they are called, or "stacks".
[[nodiscard]] std::string shown_process(const Recording& recording, std::uint32_t process);
/// The first three of them, and how many more there are; empty: there is none.
[[nodiscard]] std::string shown_processes(const Recording& recording);
/// "mixstack 0.1.0": what made it; without a number where it is not known.
[[nodiscard]] std::string shown_recorder(const Recording& recording);

}  // namespace mixstack
