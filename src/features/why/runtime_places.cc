#include "features/why/runtime_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "dotnet/bcl/slow_calls.h"
#include "features/why/busyness.h"
#include "output/report/wait_words.h"

namespace mixstack::why {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

const RecordedFunction& function_at(const Recording& recording, std::uint32_t frame) {
  return recording.functions()[recording.frames()[frame].function];
}

/// The innermost frame of the program; `below`: the innermost that called a method whose name begins so.
std::uint32_t program_frame(const Recording& recording, std::span<const std::uint32_t> frames,
                            std::string_view below = {}) {
  bool is_below = below.empty();
  for (const std::uint32_t frame : frames) {
    const RecordedFunction& f = function_at(recording, frame);
    if (!is_below && f.name.starts_with(below)) is_below = true;
    if (is_below && f.is_user) return frame;
  }
  return kNone;
}

bool calls(const Recording& recording, std::span<const std::uint32_t> frames, std::string_view start) {
  return std::any_of(frames.begin(), frames.end(),
                     [&](std::uint32_t f) { return function_at(recording, f).name.starts_with(start); });
}

bool is_running(const Recording& recording, const Sample& sample) {
  const Activity activity = recording.contexts()[sample.context].activity;
  return activity == Activity::running || activity == Activity::runnable;
}

std::uint32_t tid_of(const Recording& recording, const Sample& sample) {
  return recording.threads()[recording.contexts()[sample.context].thread].tid;
}

/// Places where memory is allocated: of samples in the runtime or its collector, which works on the stack of the thread
/// that used up the budget. Where threads of its own collect, all that the thread which allocates most does.
void add_allocations(const Recording& recording, const std::optional<Allocator>& most, SlowCause& cause) {
  constexpr double kMost = 0.6;
  const bool is_one = most && most->tid != 0 && most->share >= kMost;
  PlaceVotes votes(recording), any(recording);
  for (const Sample& sample : recording.samples()) {
    if (!is_running(recording, sample) || (is_one && tid_of(recording, sample) != most->tid)) continue;
    const auto frames = recording.frames_of(sample.stack);
    if (calls(recording, frames, dotnet::bcl::kExceptionDispatch)) continue;
    const std::uint32_t frame = program_frame(recording, frames);
    if (frame == kNone) continue;
    const BusyKind kind = kind_of(recording, frames);
    if (kind == BusyKind::gc || kind == BusyKind::runtime) votes.add(frame, sample.count);
    any.add(frame, sample.count);
  }
  if (votes.all() != 0)
    votes.tell(cause);
  else if (is_one)
    any.tell(cause);
}

void add_below(const Recording& recording, std::string_view start, SlowCause& cause) {
  PlaceVotes votes(recording);
  for (const Sample& sample : recording.samples()) {
    const auto frames = recording.frames_of(sample.stack);
    if (!calls(recording, frames, start)) continue;
    if (const std::uint32_t frame = program_frame(recording, frames, start); frame != kNone)
      votes.add(frame, sample.count);
  }
  votes.tell(cause);
}

/// Where the compiler has inlined GC.Collect, the program's method is what called the collector, which works on the
/// stack of the caller. Hardly any other collection is among those that are mostly asked for. Where threads of the
/// collector's own do the work, callers wait, and what little the runtime does for others tells nothing of them.
void add_collectors(const Recording& recording, SlowCause& cause) {
  PlaceVotes votes(recording);
  std::uint64_t of_others = 0;  // without a caller in the program: threads of the collector
  for (const Sample& sample : recording.samples()) {
    if (!is_running(recording, sample)) continue;
    const auto frames = recording.frames_of(sample.stack);
    const BusyKind kind = kind_of(recording, frames);
    if (kind != BusyKind::gc && kind != BusyKind::runtime) continue;
    const auto is_managed = [&](std::uint32_t f) { return function_at(recording, f).kind == CodeKind::managed; };
    const auto innermost = std::find_if(frames.begin(), frames.end(), is_managed);
    if (innermost == frames.end()) of_others += sample.count;
    if (innermost == frames.begin() || innermost == frames.end() || !function_at(recording, *innermost).is_user)
      continue;
    votes.add(*innermost, sample.count);
  }
  if (votes.all() > of_others) votes.tell(cause);
}

void add_compilers(const Recording& recording, SlowCause& cause) {
  PlaceVotes votes(recording);
  for (const Sample& sample : recording.samples()) {
    if (!is_running(recording, sample)) continue;
    const auto frames = recording.frames_of(sample.stack);
    if (kind_of(recording, frames) != BusyKind::jit) continue;
    if (const std::uint32_t frame = program_frame(recording, frames); frame != kNone) votes.add(frame, sample.count);
  }
  votes.tell(cause);
}

bool is_forced(const SlowCause& cause) { return cause.kind == SlowKind::collections && !cause.title.empty(); }

bool is_managed_memory(const SlowCause& cause) {
  return cause.kind == SlowKind::memory &&
         std::any_of(cause.facts.begin(), cause.facts.end(), [](const SlowFact& f) { return f.first == "survived_0"; });
}

}  // namespace

void PlaceVotes::add(std::uint32_t frame, std::uint64_t count) {
  Place& place = by_function_[recording_.frames()[frame].function];
  place.count += count;
  place.frames[frame] += count;
  all_ += count;
}

std::string PlaceVotes::words(std::uint32_t function, const Place& place) const {
  std::uint64_t most = 0;
  const RecordedFrame* at = nullptr;
  for (const auto& [number, count] : place.frames) {
    const RecordedFrame& frame = recording_.frames()[number];
    if (frame.file == kNoIndex || count <= most) continue;
    most = count;
    at = &frame;
  }
  const std::string name = shown_name(recording_, function);
  return at == nullptr ? name : fmt::format("{} in {}:{}", name, recording_.files()[at->file], at->line);
}

void PlaceVotes::tell(SlowCause& cause) const {
  constexpr std::size_t kMostOthers = 3;
  if (all_ == 0) return;
  std::vector<std::pair<std::uint32_t, const Place*>> order;
  for (const auto& [function, place] : by_function_) order.emplace_back(function, &place);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
  cause.place = words(order[0].first, *order[0].second);
  cause.place_samples = order[0].second->count;
  cause.samples = all_;
  for (std::size_t i = 1; i < std::min(order.size(), kMostOthers + 1); i++) {
    const Place& other = *order[i].second;
    if (other.count * 10 < all_) break;
    cause.more.push_back(fmt::format("{:.0f} % at {}",
                                     100.0 * static_cast<double>(other.count) / static_cast<double>(all_),
                                     words(order[i].first, other)));
  }
}

std::set<std::uint32_t> throwing_threads(const Recording& recording) {
  std::set<std::uint32_t> threads;
  for (const Sample& sample : recording.samples())
    if (calls(recording, recording.frames_of(sample.stack), dotnet::bcl::kExceptionDispatch))
      threads.insert(tid_of(recording, sample));
  return threads;
}

void add_runtime_places(const Recording& recording, const std::optional<Allocator>& most,
                        std::vector<SlowCause>& causes) {
  for (SlowCause& cause : causes) {
    if (!cause.place.empty()) continue;
    if (is_forced(cause)) {
      add_below(recording, dotnet::bcl::kCollects, cause);
      if (cause.place.empty()) add_collectors(recording, cause);
    } else if (cause.kind == SlowKind::collections || is_managed_memory(cause)) {
      add_allocations(recording, most, cause);
    } else if (cause.kind == SlowKind::exceptions) {
      add_below(recording, dotnet::bcl::kExceptionDispatch, cause);
    } else if (cause.kind == SlowKind::compiling) {
      add_compilers(recording, cause);
    }
  }
}

bool wants_a_caller(std::span<const SlowCause> causes) {
  return std::any_of(causes.begin(), causes.end(),
                     [](const SlowCause& c) { return c.place.empty() && (is_forced(c) || is_managed_memory(c)); });
}

void add_runtime_places(const ProcessDump& dump, std::vector<SlowCause>& causes) {
  const auto asks = [&](const ThreadDump& t) {
    return std::any_of(t.symbols.begin(), t.symbols.end(), [&](std::uint32_t s) {
      return s < dump.symbols.size() && dump.symbols[s].name.starts_with(dotnet::bcl::kCollects);
    });
  };
  for (SlowCause& cause : causes) {
    if (!cause.place.empty()) continue;
    double of = 0;
    for (const SlowFact& f : cause.facts)
      if (f.first == "thread") of = f.second;
    for (const ThreadDump& t : dump.threads) {
      if (!(is_forced(cause) && asks(t)) &&
          !(is_managed_memory(cause) && of != 0 && t.tid == static_cast<ThreadId>(of)))
        continue;
      cause.place = report::place_words(dump, t);
      if (!cause.place.empty()) break;
    }
  }
}

}  // namespace mixstack::why
