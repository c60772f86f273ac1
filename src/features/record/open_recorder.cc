#include "features/record/open_recorder.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/system/file_limit.h"
#include "features/record/allocation_refusal.h"
#include "features/record/allocation_source.h"
#include "features/record/fault_period.h"
#include "features/record/iterator_source.h"
#include "features/record/perf_source.h"
#include "features/record/stop_source.h"
#include "process/bpf/bpf_refusal.h"
#include "process/perf/kernel_files.h"
#include "process/perf/perf_refusal.h"

namespace mixstack::record {
namespace {

using Sources = std::vector<std::unique_ptr<SampleSource>>;

constexpr char kNoKernel[] = "no frames of the kernel of threads that wait or are ready to run: only of those that run";

/// Opens the source of running threads. Null: `notes` say why.
std::unique_ptr<PerfSource> open_perf(SharedSession& session, const RecorderOptions& options, SampleClock clock,
                                      std::uint32_t hertz, std::vector<std::string>& notes) {
  const TargetInfo& target = session.session->target().info();
  const bool is_of_faults = options.want == Want::page_faults || options.want == Want::first_uses;
  const auto sampled = is_of_faults ? perf::Sampled::page_faults : perf::Sampled::cpu;
  auto source = PerfSource::open(target.pid, target.arch, {sampled, options.period, hertz, options.kernel, clock});
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

/// The reason where perf events are not available either.
std::string why_not_bpf_alone(const TargetInfo& target, std::uint32_t hertz) {
  const auto source = IteratorSource::open(target.pid, target.arch, hertz, false);
  if (source) return "BPF shows threads that wait, and perf events must show those that run";
  const bpf::BpfRefusal refusal = bpf::explain_bpf_refusal(source.error());
  if (refusal == bpf::BpfRefusal::none) return "no BPF: the process cannot be looked at by it";
  const bpf::RefusalWords words = bpf::refusal_words(refusal, source.error());
  return "no BPF: " + words.why + (words.remedy.empty() ? "" : ". " + words.remedy);
}

/// A thread whose schedstat file we cannot keep open counts as having run: it is stopped in each round. Says so.
void note_few_files(std::uint32_t pid, bool has_running, std::vector<std::string>& notes) {
  const auto threads = perf::threads_of(pid);
  rlimit files{};
  if (!threads || ::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const std::uint64_t enough = base::limit_for_thread_files((has_running ? 3 : 2) * threads->size());
  if (files.rlim_cur >= enough) return;
  notes.push_back(
      "threads are stopped in each round, whether they have run or not: too few files may be open to see "
      "that of all (ulimit -n: " +
      std::to_string(files.rlim_cur) + " at most, " + std::to_string(enough) + " are enough)");
}

/// Opens the source of waiting threads; with stops, also of running ones if no other source samples them.
std::unique_ptr<SampleSource> open_waiting(SharedSession& session, const RecorderOptions& options, std::uint32_t hertz,
                                           bool has_running, std::vector<std::string>& notes) {
  const TargetInfo& target = session.session->target().info();
  if (has_running) {
    auto source = IteratorSource::open(target.pid, target.arch, hertz, options.kernel);
    if (source) return std::move(*source);
    // A kernel that refuses its own stacks may still give those of the process.
    if (options.kernel) source = IteratorSource::open(target.pid, target.arch, hertz, false);
    if (source) {
      notes.push_back(kNoKernel);
      return std::move(*source);
    }
    notes.push_back((options.may_stop ? "threads that wait are stopped for a moment when they have run: "
                                      : "threads that wait are not seen: ") +
                    why_no_iterator(source.error()));
  }
  if (!options.may_stop) {
    if (!has_running) notes.push_back(why_not_bpf_alone(target, hertz));
    return nullptr;
  }
  note_few_files(target.pid, has_running, notes);
  if (options.kernel) notes.push_back(has_running ? kNoKernel : "no frames of the kernel: samples are taken by stops");
  return std::make_unique<StopSource>(
      session, StopOptions{.hertz = hertz, .most_held = options.most_held, .waiting_only = has_running});
}

/// Allocations have one source.
tl::expected<OpenedRecorder, NotOpened> open_allocations(std::shared_ptr<SharedSession> session,
                                                         SharedRecording& shared, const RecorderOptions& options) {
  auto source = AllocationSource::open(session);
  if (!source) {
    NotOpened fault{.error = source.error()};
    fault.notes.push_back("allocations cannot be seen: " + why_no_allocations(source.error()));
    return tl::unexpected(std::move(fault));
  }
  Sources sources;
  sources.push_back(std::move(*source));
  StackRecorder::Options stacks = options.stacks;
  stacks.allocations = true;
  OpenedRecorder opened;
  opened.recorder = std::make_unique<ProcessRecorder>(std::move(session), std::move(sources), shared, stacks);
  return opened;
}

/// The calls that map memory. Null: `notes` say why they are not told.
std::unique_ptr<PerfSource> open_memory_calls(const TargetInfo& target, std::vector<std::string>& notes) {
  const auto number = perf::tracepoint_number("raw_syscalls/sys_exit");
  if (!number) {
    notes.push_back(kNoMemoryCalls +
                    std::string(number.error().code == ErrorCode::permission_denied
                                    ? "the kernel's list of tracepoints is for root (/sys/kernel/tracing)"
                                    : "no tracefs is mounted (mount -t tracefs tracefs /sys/kernel/tracing)"));
    return nullptr;
  }
  PerfSourceOptions options{perf::Sampled::tracepoint, 1, kUsualCpuHertz, false, SampleClock::bytes, true};
  options.tracepoint = *number;
  options.filter = memory_calls_filter();
  auto source = PerfSource::open(target.pid, target.arch, options);
  if (source) return std::move(*source);
  notes.push_back(kNoMemoryCalls + perf::explain_perf_refusal(source.error()));
  return nullptr;
}

/// First uses, weighted, and beside them the calls.
tl::expected<OpenedRecorder, NotOpened> open_memory_use(std::shared_ptr<SharedSession> session, SharedRecording& shared,
                                                        const RecorderOptions& options) {
  const TargetInfo& target = session->session->target().info();
  OpenedRecorder opened;
  const std::uint64_t period = options.period != 0 ? options.period : fault_period(target.pid, kUsualCpuHertz);
  auto touches = PerfSource::open(
      target.pid, target.arch, {perf::Sampled::page_faults, period, kUsualCpuHertz, false, SampleClock::bytes, true});
  if (!touches) {
    NotOpened fault{.error = touches.error()};
    fault.notes.push_back("no perf events: " + perf::explain_perf_refusal(touches.error()));
    return tl::unexpected(std::move(fault));
  }
  StackRecorder::Options stacks = options.stacks;
  stacks.mappings_are_told = (*touches)->tells_mappings();
  Sources sources;
  sources.push_back(std::move(*touches));
  if (auto calls = open_memory_calls(target, opened.notes)) sources.push_back(std::move(calls));
  opened.recorder = std::make_unique<ProcessRecorder>(std::move(session), std::move(sources), shared, stacks);
  return opened;
}

}  // namespace

tl::expected<OpenedRecorder, NotOpened> open_recorder(std::shared_ptr<SharedSession> session, SharedRecording& shared,
                                                      const RecorderOptions& options) {
  if (options.want == Want::allocations) return open_allocations(std::move(session), shared, options);
  if (options.want == Want::memory_use) return open_memory_use(std::move(session), shared, options);
  OpenedRecorder opened;
  Sources sources;
  const bool is_cpu = options.want != Want::wall, is_of_bytes = options.want == Want::first_uses;
  const bool is_of_faults = is_of_bytes || options.want == Want::page_faults;
  std::uint32_t hertz = options.hertz != 0 ? options.hertz : is_cpu ? kUsualCpuHertz : kUsualWallHertz;
  const SampleClock clock = is_of_bytes ? SampleClock::bytes : is_cpu ? SampleClock::cpu : SampleClock::wall;
  RecorderOptions of_perf = options;
  if (is_of_bytes) of_perf.period = fault_period(session->session->target().info().pid, kUsualCpuHertz);
  auto running = open_perf(*session, of_perf, clock, hertz, opened.notes);
  const bool has_running = running != nullptr;
  StackRecorder::Options stacks = options.stacks;
  stacks.mappings_are_told = has_running && running->tells_mappings();
  if (running) sources.push_back(std::move(running));
  if (!has_running && is_of_faults) {
    NotOpened fault{.error = {ErrorCode::permission_denied}};
    fault.notes = std::move(opened.notes);
    return tl::unexpected(std::move(fault));
  }
  if (!has_running) hertz = std::min(hertz, kMostStopHertz);
  if (auto waiting =
          is_cpu && has_running ? nullptr : open_waiting(*session, options, hertz, has_running, opened.notes))
    sources.push_back(std::move(waiting));
  if (sources.empty()) {
    NotOpened fault{.error = {ErrorCode::permission_denied}};
    fault.is_without_stops = !options.may_stop;
    fault.notes = std::move(opened.notes);
    return tl::unexpected(std::move(fault));
  }
  stacks.rounds_weigh = sources.size() == 2;
  if (!is_of_bytes) (is_cpu && has_running ? opened.cpu_hertz : opened.wall_hertz) = hertz;
  opened.recorder = std::make_unique<ProcessRecorder>(std::move(session), std::move(sources), shared, stacks);
  return opened;
}

std::uint64_t enough_files(std::size_t threads) { return base::limit_for_thread_files(3 * std::uint64_t{threads}); }

Want want_of(RecordMode mode) {
  return mode == RecordMode::cpu           ? Want::cpu
         : mode == RecordMode::allocations ? Want::allocations
         : mode == RecordMode::first_uses  ? Want::first_uses
                                           : Want::wall;
}

RecorderOptions recorder_options(const RecordOptions& wanted) {
  RecorderOptions options;
  options.want = want_of(wanted.mode);
  options.hertz = wanted.hertz;
  options.most_held = wanted.most_held;
  options.may_stop = wanted.may_stop;
  options.kernel = wanted.kernel;
  options.stacks.async_callers = wanted.async_callers;
  return options;
}

}  // namespace mixstack::record
