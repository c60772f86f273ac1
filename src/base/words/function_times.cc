#include <algorithm>
#include <tuple>

#include "base/words/recording_view.h"
#include "base/words/view_tree.h"

namespace mixstack {

std::vector<FunctionTime> function_times(const Recording& recording, bool waiting) {
  ProfileOptions options;
  options.idle = waiting;
  options.by_process = false;
  const RecordingView view = view_of(recording, options);
  const std::vector<EntryCounts> counts = entry_counts(view);
  std::vector<FunctionTime> times;
  for (std::size_t i = 0; i < counts.size(); i++) {
    const ViewEntry& entry = view.entries[i];
    if (entry.function == kNoIndex || counts[i].total == 0) continue;
    times.push_back({entry.function, entry.name, view.weight(counts[i].self), view.weight(counts[i].total)});
  }
  std::sort(times.begin(), times.end(), [](const FunctionTime& a, const FunctionTime& b) {
    return std::tie(b.self_ns, b.total_ns, a.name) < std::tie(a.self_ns, a.total_ns, b.name);
  });
  return times;
}

}  // namespace mixstack
