#include <algorithm>
#include <array>
#include <thread>

#include "features/memory/growth.h"
#include "mixstack/memory_growth.h"
#include "output/report/memory_growth.h"
#include "output/report/memory_html.h"
#include "process/live/cgroup.h"

namespace mixstack {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{50};
constexpr int kRestPerWork = 10;  // so much longer it rests after a count than the count took

/// Counts generation 2 after full collections that are over, at most a tenth of the time.
class KeptWatch {
 public:
  explicit KeptWatch(Session& session) : session_(session), seen_(full_collections()) {}

  void look() {
    if (!seen_) return;
    const auto now = full_collections();
    if (!now || now == counted_ || now == seen_) return;  // none has come since it was asked
    const auto begin = steady_clock::now();
    if (begin < rest_until_) return;
    auto counted = session_.heap_types({.old_only = true});
    const auto end = steady_clock::now();
    rest_until_ = end + kRestPerWork * (end - begin);
    const auto is_exact = [](const HeapTypes& h) { return h.is_exact; };
    if (!counted || counted->empty() || !std::all_of(counted->begin(), counted->end(), is_exact)) return;
    if (full_collections() != now) return;  // of a moment between two collections, or nothing
    keep(std::move(*counted), *now);
  }
  [[nodiscard]] const memory_use::KeptObjects& kept() const { return kept_; }

 private:
  /// An object is young through its first collection. So where there are enough counts, the first of them is one after
  /// two full collections: all that was held when the watch began and still is has come to generation 2 then.
  void keep(std::vector<HeapTypes> counted, std::uint64_t now) {
    constexpr std::uint64_t kUntilOld = 2;
    if (!first_) {
      first_ = now;
      kept_.first = std::move(counted);
    } else {
      if (kept_.collections != 0 && *first_ < *seen_ + kUntilOld) {
        first_ = counted_;
        kept_.first = std::move(kept_.last);
      }
      kept_.last = std::move(counted);
      kept_.collections = static_cast<std::uint32_t>(std::min<std::uint64_t>(now - *first_, UINT32_MAX));
    }
    counted_ = now;
  }
  /// Those of all runtimes; nothing: not known.
  [[nodiscard]] std::optional<std::uint64_t> full_collections() const {
    constexpr std::size_t kFull = 2;
    const auto counters = session_.counters();
    if (!counters || counters->empty()) return std::nullopt;
    std::uint64_t all = 0;
    for (const RuntimeCounters& c : *counters) {
      if (c.generations.size() <= kFull) return std::nullopt;
      all += c.generations[kFull].collections;
    }
    return all;
  }

  Session& session_;
  std::optional<std::uint64_t> seen_, first_, counted_;
  memory_use::KeptObjects kept_;
  steady_clock::time_point rest_until_;
};

/// Version 2 of cgroups alone has it.
std::optional<bool> kills_all(std::uint32_t pid) {
  for (const process::CgroupLevel& level : process::cgroup_levels(pid, "memory")) {
    if (!level.is_v2) return std::nullopt;
    if (!process::leading_number(process::read_cgroup_file(level.folder + "/memory.max"))) continue;
    const auto group = process::leading_number(process::read_cgroup_file(level.folder + "/memory.oom.group"));
    return group ? std::optional(*group != 0) : std::nullopt;
  }
  return std::nullopt;
}

report::MemoryReport report_of(const MemoryMoment& m) {
  return {m.pid, m.name, m.core_path, m.account ? &*m.account : nullptr, m.heaps, &m.mark};
}

}  // namespace

MemoryMoment moment_of(MemoryAnswer answer) {
  return {answer.pid,
          std::move(answer.name),
          std::move(answer.core_path),
          std::move(answer.mark),
          std::move(answer.account),
          std::move(answer.heaps)};
}

MemoryAnswer answer_of(MemoryMoment moment) {
  MemoryAnswer answer;
  answer.pid = moment.pid;
  answer.name = std::move(moment.name);
  answer.core_path = std::move(moment.core_path);
  answer.mark = std::move(moment.mark);
  answer.account = std::move(moment.account);
  answer.heaps = std::move(moment.heaps);
  return answer;
}

MemoryGrowth growth_of(const MemoryMoment& before, const MemoryMoment& after) {
  return memory_use::growth_between(before, after, nullptr);
}

Result<MemoryTwice> ask_memory_twice(Session& session, const GrowthOptions& options) {
  if (!session.target().info().core_path.empty()) return fail(ErrorCode::unsupported);
  auto first = ask_memory(session, options.memory);
  if (!first) return fail(first.error());
  std::optional<KeptWatch> watch;
  if (options.memory.types && options.watch_collections) watch.emplace(session);
  const auto end = steady_clock::now() + options.after;
  while (steady_clock::now() < end && !(options.is_enough && options.is_enough())) {
    std::this_thread::sleep_until(std::min(end, steady_clock::now() + kPoll));
    if (watch) watch->look();
  }
  // Modules and runtimes may have come meanwhile.
  if (auto again = session.refresh(); !again) return fail(again.error());
  auto second = ask_memory(session, options.memory);
  if (!second) return fail(second.error());
  MemoryTwice twice{moment_of(std::move(*first)), moment_of(std::move(*second)), {}};
  twice.growth = memory_use::growth_between(twice.before, twice.after, watch ? &watch->kept() : nullptr);
  if (twice.growth.forecast) twice.growth.forecast->kills_all = kills_all(twice.after.pid);
  return twice;
}

void write_text(const MemoryGrowth& growth, const ReportSink& sink, const ReportOptions& /*options*/) {
  report::Writer writer(sink);
  report::write_growth_text(writer, growth);
  writer.flush();
}

void write_json(const MemoryGrowth& growth, const ReportSink& sink) {
  report::Writer writer(sink);
  report::write_growth_json(writer, growth);
  writer.flush();
}

void write_html(const MemoryTwice& twice, const ReportSink& sink) {
  report::Writer writer(sink);
  const std::array<report::MemoryReport, 2> moments{report_of(twice.before), report_of(twice.after)};
  report::write_memory_html(writer, {moments, &twice.growth});
  writer.flush();
}

}  // namespace mixstack
