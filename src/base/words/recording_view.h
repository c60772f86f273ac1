// The shown part of a recording: which samples, and which frames of their stacks, in which direction. Every picture,
// table and file is made from such a view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mixstack/recording.h"

namespace mixstack {

struct ProfileOptions {
  /// Nothing: the clock that has samples; if both have, CPU time, unless waiting is to be shown.
  std::optional<SampleClock> clock{};
  bool every_clock = false;            ///< samples of all clocks at once: for formats that distinguish them
  bool idle = false;                   ///< samples of waiting threads count, too
  std::uint8_t activities = 0;         ///< those to show, each as `activity_bit`; 0: as `idle` says
  bool gc_only = false;                ///< only while the runtime was stopping its threads, or had stopped them
  bool by_thread = false;              ///< every stack begins with its thread
  bool by_process = true;              ///< every stack begins with its process, if there are several
  bool managed_only = false;           ///< only frames of managed methods
  bool kernel = true;                  ///< frames of the kernel, if they were recorded
  bool inverted = false;               ///< from the function that was running to its callers
  std::vector<std::string> include{};  ///< only stacks with a function that one of these matches (name_pattern.h)
  std::vector<std::string> exclude{};  ///< no stack with a function that one of these matches
};

[[nodiscard]] constexpr std::uint8_t activity_bit(Activity activity) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(activity));
}
/// The clock whose samples are shown. Nothing: there are no samples.
[[nodiscard]] std::optional<SampleClock> shown_clock(const Recording& recording, const ProfileOptions& options);
/// The clocks to compare: one that both recordings have samples of. If there is none, or one of them has no rate
/// (folded stacks), each one's own.
[[nodiscard]] std::pair<std::optional<SampleClock>, std::optional<SampleClock>> compared_clocks(
    const Recording& before, const Recording& after, const ProfileOptions& options);

/// The properties by which frames of a view differ.
enum class ViewDetail : std::uint8_t {
  functions,  ///< shown name and kind
  frames,     ///< also address and line
};

/// One box of a picture: a function, or a thread, a process or a remark ("[cut: ...]") without a function.
struct ViewEntry {
  std::string name{};  ///< never empty; control characters are escaped, nothing else
  CodeKind kind = CodeKind::unknown;
  std::uint32_t function = kNoIndex;  ///< of the recording; the first of those shown alike
  std::uint32_t frame = kNoIndex;     ///< with ViewDetail::frames
};

/// Node 0 is the root and has no entry. Parents come before children: outermost frames first, in an inverted view
/// innermost first.
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
  std::uint64_t period_ns = 0;      ///< ns per count; 0: not known, then weights are counts, or bytes
  std::uint64_t shown = 0;          ///< sum of counts
  std::uint64_t left_out = 0;       ///< counts of this clock that the options exclude
  std::uint64_t idle_left_out = 0;  ///< of those: threads that waited
  std::uint64_t too_many = 0;       ///< of `shown`: in the box "[too many different stacks]"

  /// Weights are bytes of objects that were made.
  [[nodiscard]] bool is_of_bytes() const { return clock == SampleClock::bytes; }
  /// Nanoseconds or bytes, or counts if the period is not known. Saturates instead of overflowing.
  [[nodiscard]] std::uint64_t weight(std::uint64_t count) const;
  /// By node: counts of samples that end in it.
  [[nodiscard]] std::vector<std::uint64_t> self_counts() const;
  /// By node: including all below.
  [[nodiscard]] std::vector<std::uint64_t> total_counts() const;
};

/// Takes time and memory for every node and sample of the recording. All that is derived from them (an inverted view of
/// deep recursion, a tree for each of thousands of threads) is bounded: at most kMostPlaces boxes in all stacks of
/// samples with different contexts.
[[nodiscard]] RecordingView view_of(const Recording& recording, const ProfileOptions& options,
                                    ViewDetail detail = ViewDetail::functions);

/// Counts of a view in which threads were in this state.
[[nodiscard]] std::uint64_t count_of(const Recording& recording, const RecordingView& view, Activity activity);

/// "worker [dotnet, tid 12]": the name of a thread in pictures. For stacks without threads (folded ones), the process.
[[nodiscard]] std::string shown_thread(const Recording& recording, std::uint32_t thread);
/// "app.dll (4711)"; for stacks without a process their name, or "stacks".
[[nodiscard]] std::string shown_process(const Recording& recording, std::uint32_t process);
/// The first three processes, and how many more there are; empty: none.
[[nodiscard]] std::string shown_processes(const Recording& recording);
/// "mixstack 0.1.0": the program that made it; without a number if that is not known.
[[nodiscard]] std::string shown_recorder(const Recording& recording);

}  // namespace mixstack
