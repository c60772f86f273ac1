#include "profile/open_recorder.h"

#include <algorithm>

#include "bpf/bpf_refusal.h"
#include "perf/perf_refusal.h"
#include "profile/iterator_source.h"
#include "profile/perf_source.h"
#include "profile/stop_source.h"

namespace mixstack::profile {
namespace {

using Sources = std::vector<std::unique_ptr<SampleSource>>;

/// Samples of what runs; nothing: `notes` say why.
std::unique_ptr<PerfSource> open_perf(SharedSession& session, const RecorderOptions& options, SampleClock clock,
                                      std::uint32_t hertz, std::vector<std::string>& notes) {
  const TargetInfo& target = session.session->target().info();
  auto source = PerfSource::open(target.pid, target.arch, {hertz, options.kernel, clock});
  if (source) return std::move(*source);
  notes.push_back("no perf events: " + perf::explain_perf_refusal(source.error()));
  return nullptr;
}

/// Samples of what waits, and with stops of what runs, too, if nobody else samples it.
std::unique_ptr<SampleSource> open_waiting(SharedSession& session, const RecorderOptions& options, std::uint32_t hertz,
                                           bool has_running, std::vector<std::string>& notes) {
  const TargetInfo& target = session.session->target().info();
  if (has_running) {
    auto source = IteratorSource::open(target.pid, target.arch, hertz);
    if (source) return std::move(*source);
    std::string why = bpf::refusal_text(bpf::explain_bpf_refusal(source.error()), source.error());
    while (why.ends_with('\n')) why.pop_back();
    std::replace(why.begin(), why.end(), '\n', ' ');
    notes.push_back("threads that wait are stopped for a moment when they have run: " + why);
  }
  if (!options.may_stop) return nullptr;
  return std::make_unique<StopSource>(
      session, StopOptions{.hertz = hertz, .most_held = options.most_held, .waiting_only = has_running});
}

}  // namespace

Result<OpenedRecorder> open_recorder(std::unique_ptr<SharedSession> session, SharedRecording& shared,
                                     const RecorderOptions& options) {
  OpenedRecorder opened;
  Sources sources;
  const bool is_cpu = options.want == Want::cpu;
  std::uint32_t hertz = options.hertz != 0 ? options.hertz : is_cpu ? kUsualCpuHertz : kUsualWallHertz;
  auto running = open_perf(*session, options, is_cpu ? SampleClock::cpu : SampleClock::wall, hertz, opened.notes);
  const bool has_running = running != nullptr;
  StackRecorder::Options stacks = options.stacks;
  stacks.mappings_are_told = has_running && running->tells_mappings();
  if (running) sources.push_back(std::move(running));
  if (!has_running) hertz = std::min(hertz, kMostStopHertz);
  if (auto waiting =
          is_cpu && has_running ? nullptr : open_waiting(*session, options, hertz, has_running, opened.notes))
    sources.push_back(std::move(waiting));
  if (sources.empty()) return fail(ErrorCode::permission_denied);
  (is_cpu && has_running ? opened.cpu_hertz : opened.wall_hertz) = hertz;
  opened.recorder = std::make_unique<ProcessRecorder>(std::move(session), std::move(sources), shared, stacks);
  return opened;
}

}  // namespace mixstack::profile
