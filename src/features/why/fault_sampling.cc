#include <algorithm>
#include <chrono>
#include <thread>

#include "features/record/open_recorder.h"
#include "features/why/counter_change.h"
#include "features/why/kernel_causes.h"
#include "features/why/sample_places.h"
#include "process/live/kernel_counters.h"

namespace mixstack::why {
namespace {

/// Page faults that stand for one sample, so that some 200 are taken in a second.
std::uint64_t period_for(std::uint32_t pid) {
  constexpr std::chrono::milliseconds kMeasured{40};
  constexpr double kWanted = 200;
  const auto proc = process::ProcDir::open(pid);
  const auto faults = [&]() -> std::uint64_t {
    const auto text = proc ? proc->read("stat", 4 << 10) : Result<std::string>(fail(ErrorCode::no_such_process));
    const auto stat = text ? process::parse_stat_counters(*text) : std::nullopt;
    return stat ? stat->minor_faults : 0;
  };
  const std::uint64_t before = faults();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kMeasured);
  const std::uint64_t after = faults();
  const double time = seconds_of(std::chrono::steady_clock::now() - begin);
  const double rate = static_cast<double>(after - std::min(after, before)) / time;
  // Odd: no power of two, in which memory is often touched.
  return static_cast<std::uint64_t>(std::clamp(rate / kWanted, 1.0, 1e6)) | 1;
}

}  // namespace

struct FaultSampling::Taking {
  record::SharedRecording shared;
  record::OpenedRecorder opened;
};

FaultSampling::FaultSampling(std::unique_ptr<Taking> taking) : taking_(std::move(taking)) {}
FaultSampling::~FaultSampling() = default;

Result<std::unique_ptr<FaultSampling>> FaultSampling::begin(const std::shared_ptr<record::SharedSession>& session) {
  constexpr std::uint32_t kHertz = 199;  // of each thread that has faults
  auto taking = std::make_unique<Taking>();
  const TargetInfo& target = session->session->target().info();
  record::RecorderOptions options;
  options.want = record::Want::page_faults;
  options.hertz = kHertz;
  options.period = period_for(target.pid);
  options.may_stop = false;
  const auto process = taking->shared.recording.process({.pid = target.pid, .comm = target.comm});
  options.stacks.process = process.value_or(0);
  auto opened = record::open_recorder(session, taking->shared, options);
  if (!opened) return fail(opened.error().error);
  taking->opened = std::move(*opened);
  taking->opened.recorder->start(record::monotonic_ns());
  return std::unique_ptr<FaultSampling>(new FaultSampling(std::move(taking)));
}

void FaultSampling::end(std::vector<SlowCause>& causes) {
  taking_->opened.recorder->stop();
  const std::lock_guard lock(taking_->shared.mutex);
  const SamplePlace found = place_of_samples(taking_->shared.recording, [](auto) { return true; });
  if (found.place.empty()) return;
  for (SlowCause& cause : causes) {
    const bool is_native_growth =
        cause.kind == SlowKind::memory &&
        std::any_of(cause.facts.begin(), cause.facts.end(), [](const SlowFact& f) { return f.first == "native"; });
    if (!cause.place.empty() || (cause.kind != SlowKind::page_faults && !is_native_growth)) continue;
    cause.place = found.place;
    cause.place_samples = found.samples;
    cause.samples = found.of;
  }
}

}  // namespace mixstack::why
