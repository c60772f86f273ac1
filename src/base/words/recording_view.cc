// Input: a `Recording` (maybe read from a hostile file) and options. Output: a `RecordingView`: a tree of boxes, and
// samples that end in its nodes.
// Algorithm: (1) choose the clock, since counts of CPU and wall time cannot be added; (2) `StackJudge` decides once for
// each function and stack whether options select it, so that a sample costs one look-up; (3) each selected pair of
// stack and context gets its node: from the root (process, thread, "[cut: ...]") outermost first, from the nearest
// ancestor already placed, or, if inverted, innermost first; (4) sort samples by time.
// Bounds: `kMostViewNodes` nodes, `kMostSteps` steps of inverted stacks, `RecordingView::kMostPlaces` boxes in all
// stacks. Beyond these, samples go to "[too many different stacks]" and are still counted.
#include "base/words/recording_view.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/words/stack_judge.h"
#include "base/words/words.h"

namespace mixstack {
namespace {

// Bounds of a view: the recording may be hostile.
constexpr std::size_t kMostViewNodes = 5u << 20;
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;

constexpr std::uint32_t kNone = kNoIndex;

bool is_doubtful(const RecordedFrame& frame) { return frame.trust > Trust::checkpoint; }

class ViewMaker {
 public:
  ViewMaker(const Recording& recording, const ProfileOptions& options, ViewDetail detail)
      : recording_(recording),
        options_(options),
        detail_(detail),
        judge_(recording, options),
        with_processes_(options.by_process && recording.processes().size() > 1) {
    view_.nodes.emplace_back();
    depths_.push_back(0);
  }
  RecordingView make();

 private:
  std::uint32_t entry_of_frame(std::uint32_t frame);
  std::uint32_t made_up(std::string name, CodeKind kind = CodeKind::unknown);
  std::uint32_t child(std::uint32_t parent, std::uint32_t entry);
  std::uint32_t root_of(const SampleContext& context);
  std::uint32_t place_of(const Sample& sample);
  std::uint32_t outermost_first(std::uint32_t root, std::uint32_t stack);
  std::uint32_t innermost_first(std::uint32_t root, std::uint32_t stack, StopReason stop);
  std::uint32_t with_frame(std::uint32_t parent, std::uint32_t frame, bool after_doubt);
  std::uint32_t of_nothing(std::uint32_t root, std::uint32_t stack);

  const Recording& recording_;
  const ProfileOptions& options_;
  ViewDetail detail_;
  StackJudge judge_;
  bool with_processes_;
  RecordingView view_;
  std::vector<std::uint32_t> entry_of_;                                ///< by function or frame
  std::map<std::pair<std::string, CodeKind>, std::uint32_t> alike_;    ///< entries by shown name and kind
  std::unordered_map<std::uint64_t, std::uint32_t> children_, known_;  ///< by a pair of numbers
  std::map<std::tuple<std::uint32_t, StopReason>, std::uint32_t> roots_;
  std::vector<std::uint32_t> depths_;  ///< of nodes of the view
  std::uint64_t steps_ = 0, places_ = 0;
  std::uint32_t overflow_ = kNone;  ///< the node for stacks that exceed a bound
};

std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }

struct Clocks {
  bool cpu = false, wall = false, bytes = false;
};

Clocks clocks_in(const Recording& recording) {
  Clocks clocks;
  for (const Sample& sample : recording.samples()) {
    const SampleClock clock = recording.contexts()[sample.context].clock;
    (clock == SampleClock::cpu ? clocks.cpu : clock == SampleClock::wall ? clocks.wall : clocks.bytes) = true;
  }
  return clocks;
}

std::optional<SampleClock> chosen_of(const Clocks& clocks, const ProfileOptions& options) {
  if (!clocks.cpu && !clocks.wall) return clocks.bytes ? std::optional(SampleClock::bytes) : std::nullopt;
  constexpr std::uint8_t kNotRunning =
      activity_bit(Activity::runnable) | activity_bit(Activity::waiting) | activity_bit(Activity::blocked);
  const bool wants_wall = options.idle || (options.activities & kNotRunning) != 0;
  return clocks.wall && (wants_wall || !clocks.cpu) ? SampleClock::wall : SampleClock::cpu;
}

std::uint32_t ViewMaker::made_up(std::string name, CodeKind kind) {
  const auto [at, is_new] =
      alike_.try_emplace({std::move(name), kind}, static_cast<std::uint32_t>(view_.entries.size()));
  if (is_new) view_.entries.push_back({.name = at->first.first, .kind = kind});
  return at->second;
}

std::uint32_t ViewMaker::entry_of_frame(std::uint32_t frame) {
  const std::uint32_t function = recording_.frames()[frame].function;
  const bool by_frame = detail_ == ViewDetail::frames;
  std::uint32_t& entry = entry_of_[by_frame ? frame : function];
  if (entry != kNone) return entry;
  const CodeKind kind = recording_.functions()[function].kind;
  if (by_frame) {
    entry = static_cast<std::uint32_t>(view_.entries.size());
    view_.entries.push_back({shown_name(recording_, function), kind, function, frame});
  } else {
    entry = made_up(shown_name(recording_, function), kind);
    if (view_.entries[entry].function == kNoIndex) view_.entries[entry].function = function;
  }
  return entry;
}

std::uint32_t ViewMaker::child(std::uint32_t parent, std::uint32_t entry) {
  const auto next = static_cast<std::uint32_t>(view_.nodes.size());
  const auto [at, is_new] = children_.try_emplace(pair_key(parent, entry), next);
  if (is_new) {
    view_.nodes.push_back({parent, entry});
    depths_.push_back(depths_[parent] + 1);
  }
  return at->second;
}

/// The first boxes of a context's stacks: process, thread, and a remark if the stack's end was not reached.
std::uint32_t ViewMaker::root_of(const SampleContext& context) {
  const StopReason stop = options_.inverted ? StopReason::end_of_stack : context.stop;
  const std::uint32_t process = recording_.threads()[context.thread].process;
  const std::uint32_t whose = options_.by_thread ? context.thread : with_processes_ ? process : 0;
  const auto known = roots_.find({whose, stop});
  if (known != roots_.end()) return known->second;
  std::uint32_t root = 0;
  if (with_processes_) root = child(root, made_up(shown_process(recording_, process)));
  if (options_.by_thread) root = child(root, made_up(shown_thread(recording_, context.thread)));
  if (stop != StopReason::end_of_stack) root = child(root, made_up(words::cut_name(stop)));
  roots_.emplace(std::tuple(whose, stop), root);
  return root;
}

/// A stack without any shown frame still took its time.
std::uint32_t ViewMaker::of_nothing(std::uint32_t root, std::uint32_t stack) {
  if (stack == 0) return child(root, made_up("[no stack]"));
  return options_.managed_only ? child(root, made_up("[no managed code]"))
                               : child(root, made_up("[kernel]", CodeKind::kernel));
}

std::uint32_t ViewMaker::with_frame(std::uint32_t parent, std::uint32_t frame, bool after_doubt) {
  if (after_doubt) parent = child(parent, made_up("[callers in doubt]"));
  const std::uint32_t entry = entry_of_frame(frame);
  const bool is_unnamed = recording_.functions()[recording_.frames()[frame].function].name.empty();
  if (is_unnamed && detail_ == ViewDetail::functions && parent != 0 && view_.nodes[parent].entry == entry)
    return parent;
  return child(parent, entry);
}

/// Starts at the nearest ancestor that an earlier stack has already placed.
std::uint32_t ViewMaker::outermost_first(std::uint32_t root, std::uint32_t stack) {
  std::vector<std::uint32_t> way;
  std::uint32_t at = stack, node = root;
  for (; at != 0; at = recording_.nodes()[at].parent) {
    if (const auto known = known_.find(pair_key(root, at)); known != known_.end()) {
      node = known->second;
      break;
    }
    way.push_back(at);
  }
  const auto& frames = recording_.frames();
  for (; !way.empty(); way.pop_back()) {
    const StackNode& next = recording_.nodes()[way.back()];
    const bool after_doubt = next.parent != 0 && is_doubtful(frames[recording_.nodes()[next.parent].frame]) &&
                             !is_doubtful(frames[next.frame]);
    if (judge_.is_shown(next.frame)) node = with_frame(node, next.frame, after_doubt);
    known_.emplace(pair_key(root, way.back()), node);
  }
  return node;
}

std::uint32_t ViewMaker::innermost_first(std::uint32_t root, std::uint32_t stack, StopReason stop) {
  std::uint32_t node = root;
  bool was_doubtful = true;
  for (std::uint32_t at = stack; at != 0; at = recording_.nodes()[at].parent, steps_++) {
    const std::uint32_t frame = recording_.nodes()[at].frame;
    const bool doubtful = is_doubtful(recording_.frames()[frame]);
    if (judge_.is_shown(frame)) {
      node = with_frame(node, frame, doubtful && !was_doubtful);
      was_doubtful = doubtful;
    }
  }
  if (stop != StopReason::end_of_stack) node = child(node, made_up(words::cut_name(stop)));
  return node;
}

std::uint32_t ViewMaker::place_of(const Sample& sample) {
  const SampleContext& context = recording_.contexts()[sample.context];
  if (overflow_ != kNone || view_.nodes.size() >= kMostViewNodes || known_.size() >= kMostViewNodes ||
      steps_ >= kMostSteps || places_ >= RecordingView::kMostPlaces) {
    if (overflow_ == kNone) overflow_ = child(0, made_up("[too many different stacks]"));
    view_.too_many += sample.count;
    return overflow_;
  }
  const std::uint32_t root = root_of(context);
  std::uint32_t place = 0;
  if (!judge_.has_shown_frames(sample.stack)) {
    place = of_nothing(root, sample.stack);
  } else if (options_.inverted) {
    place = innermost_first(root, sample.stack, context.stop);
  } else {
    place = outermost_first(root, sample.stack);
  }
  places_ += depths_[place];
  return place;
}

RecordingView ViewMaker::make() {
  view_.clock = shown_clock(recording_, options_);
  if (!view_.clock) return std::move(view_);
  view_.period_ns = recording_.period_ns(*view_.clock);
  entry_of_.assign(detail_ == ViewDetail::frames ? recording_.frames().size() : recording_.functions().size(), kNone);
  std::unordered_map<std::uint64_t, std::uint32_t> places;  // by stack and context
  for (const Sample& sample : recording_.samples()) {
    const SampleContext& context = recording_.contexts()[sample.context];
    if (context.clock != *view_.clock && !options_.every_clock) continue;
    const bool is_wanted = judge_.is_wanted(sample.stack);
    if (!judge_.is_seen(context) || !is_wanted) {
      view_.left_out += sample.count;
      if (is_wanted && waits(context.activity)) view_.idle_left_out += sample.count;
      continue;
    }
    const auto [at, is_new] = places.try_emplace(pair_key(sample.stack, sample.context), 0);
    if (is_new) {
      at->second = place_of(sample);
    } else if (at->second == overflow_) {
      view_.too_many += sample.count;
    }
    view_.shown += sample.count;
    view_.samples.push_back({sample.time_ns, at->second, sample.context, sample.count});
  }
  std::stable_sort(view_.samples.begin(), view_.samples.end(),
                   [](const ViewSample& a, const ViewSample& b) { return a.time_ns < b.time_ns; });
  return std::move(view_);
}

}  // namespace

std::optional<SampleClock> shown_clock(const Recording& recording, const ProfileOptions& options) {
  return options.clock ? options.clock : chosen_of(clocks_in(recording), options);
}

std::pair<std::optional<SampleClock>, std::optional<SampleClock>> compared_clocks(const Recording& before,
                                                                                  const Recording& after,
                                                                                  const ProfileOptions& options) {
  const auto has_rate = [](const Recording& r) { return r.facts.cpu_hertz != 0 || r.facts.wall_hertz != 0; };
  const Clocks first = clocks_in(before), second = clocks_in(after);
  if (!has_rate(before) || !has_rate(after)) {  // names alone: their clock is none that could be chosen
    const auto own = [&](const Recording& one, const Clocks& clocks) {
      return options.clock && has_rate(one) ? options.clock : chosen_of(clocks, options);
    };
    return {own(before, first), own(after, second)};
  }
  if (options.clock) return {options.clock, options.clock};
  const auto both = chosen_of({first.cpu && second.cpu, first.wall && second.wall, false}, options);
  if (both) return {both, both};
  return {chosen_of(first, options), chosen_of(second, options)};
}

std::uint64_t RecordingView::weight(std::uint64_t count) const {
  if (period_ns == 0) return count;
  return count > UINT64_MAX / period_ns ? UINT64_MAX : count * period_ns;
}

std::vector<std::uint64_t> RecordingView::self_counts() const {
  std::vector<std::uint64_t> counts(nodes.size());
  for (const ViewSample& sample : samples) counts[sample.node] += sample.count;
  return counts;
}

std::vector<std::uint64_t> RecordingView::total_counts() const {
  std::vector<std::uint64_t> counts = self_counts();
  for (std::size_t n = counts.size(); n-- > 1;) counts[nodes[n].parent] += counts[n];
  return counts;
}

RecordingView view_of(const Recording& recording, const ProfileOptions& options, ViewDetail detail) {
  return ViewMaker(recording, options, detail).make();
}

std::uint64_t count_of(const Recording& recording, const RecordingView& view, Activity activity) {
  std::uint64_t count = 0;
  for (const ViewSample& sample : view.samples)
    if (recording.contexts()[sample.context].activity == activity) count += sample.count;
  return count;
}

std::string shown_thread(const Recording& recording, std::uint32_t thread) {
  const RecordedThread& t = recording.threads()[thread];
  if (t.tid == 0) return !t.name.empty() ? t.name : !t.comm.empty() ? t.comm : shown_process(recording, t.process);
  const std::string tid = "tid " + std::to_string(t.tid);
  if (t.name.empty()) return t.comm.empty() ? tid : t.comm + " [" + tid + "]";
  // The kernel's name is the begin of Thread.Name where the runtime set it: said once then.
  const bool adds = !t.comm.empty() && !std::string_view(t.name).starts_with(t.comm);
  return t.name + " [" + (adds ? t.comm + ", " : "") + tid + "]";
}

std::string shown_process(const Recording& recording, std::uint32_t process) {
  const RecordedProcess& p = recording.processes()[process];
  if (p.pid == 0) return p.comm.empty() ? "stacks" : p.comm;
  return (p.comm.empty() ? "process" : p.comm) + " (" + std::to_string(p.pid) + ")";
}

std::string shown_processes(const Recording& recording) {
  constexpr std::size_t kMost = 3;
  std::string text;
  const std::size_t all = recording.processes().size();
  for (std::uint32_t p = 0; p < std::min(all, kMost); p++) text += (p == 0 ? "" : ", ") + shown_process(recording, p);
  return all <= kMost ? text : text + " and " + std::to_string(all - kMost) + " more";
}

std::string shown_recorder(const Recording& recording) {
  const std::string& version = recording.facts.version;
  return version.empty() ? "mixstack" : "mixstack " + version;
}

}  // namespace mixstack
