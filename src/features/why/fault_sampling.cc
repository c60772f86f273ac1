#include <algorithm>

#include "features/record/fault_period.h"
#include "features/record/open_recorder.h"
#include "features/why/kernel_causes.h"
#include "features/why/sample_places.h"

namespace mixstack::why {
struct FaultSampling::Taking {
  record::SharedRecording shared;
  record::OpenedRecorder opened;
};

FaultSampling::FaultSampling(std::unique_ptr<Taking> taking) : taking_(std::move(taking)) {}
FaultSampling::~FaultSampling() = default;

Result<std::unique_ptr<FaultSampling>> FaultSampling::begin(const std::shared_ptr<record::SharedSession>& session) {
  constexpr std::uint32_t kHertz = 199;  // of each thread that has faults
  constexpr double kWanted = 200;        // samples a second of the process
  auto taking = std::make_unique<Taking>();
  const TargetInfo& target = session->session->target().info();
  record::RecorderOptions options;
  options.want = record::Want::page_faults;
  options.hertz = kHertz;
  options.period = record::fault_period(target.pid, kWanted);
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
