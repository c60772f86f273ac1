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

constexpr char kNoKernel[] = "no frames of the kernel of threads that wait or are ready to run: only of those that run";

/// Samples of what runs; nothing: `notes` say why.
std::unique_ptr<PerfSource> open_perf(SharedSession& session, const RecorderOptions& options, SampleClock clock,
                                      std::uint32_t hertz, std::vector<std::string>& notes) {
  const TargetInfo& target = session.session->target().info();
  auto source = PerfSource::open(target.pid, target.arch, {hertz, options.kernel, clock});
  if (source) return std::move(*source);
  notes.push_back("no perf events: " + perf::explain_perf_refusal(source.error()));
  return nullptr;
}

std::string why_no_iterator(const Error& error) {
  const bpf::BpfRefusal refusal = bpf::explain_bpf_refusal(error);
  if (refusal == bpf::BpfRefusal::none) return "the process cannot be looked at by BPF";
  const bpf::RefusalWords words = bpf::refusal_words(refusal, error);
  return "without a stop only BPF sees them, and " + words.why + (words.remedy.empty() ? "" : ". " + words.remedy);
}

/// Samples of what waits, and with stops of what runs, too, if nobody else samples it.
std::unique_ptr<SampleSource> open_waiting(SharedSession& session, const RecorderOptions& options, std::uint32_t hertz,
                                           bool has_running, std::vector<std::string>& notes) {
  const TargetInfo& target = session.session->target().info();
  if (has_running) {
    auto source = IteratorSource::open(target.pid, target.arch, hertz, options.kernel);
    if (source) return std::move(*source);
    // A kernel that gives no stacks of its own may give those of the process.
    if (options.kernel) source = IteratorSource::open(target.pid, target.arch, hertz, false);
    if (source) {
      notes.push_back(kNoKernel);
      return std::move(*source);
    }
    notes.push_back((options.may_stop ? "threads that wait are stopped for a moment when they have run: "
                                      : "threads that wait are not seen: ") +
                    why_no_iterator(source.error()));
  }
  if (!options.may_stop) return nullptr;
  if (options.kernel) notes.push_back(has_running ? kNoKernel : "no frames of the kernel: samples are taken by stops");
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
  stacks.rounds_weigh = sources.size() == 2;
  (is_cpu && has_running ? opened.cpu_hertz : opened.wall_hertz) = hertz;
  opened.recorder = std::make_unique<ProcessRecorder>(std::move(session), std::move(sources), shared, stacks);
  return opened;
}

}  // namespace mixstack::profile
