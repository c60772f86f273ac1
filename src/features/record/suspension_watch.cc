#include "features/record/suspension_watch.h"

#include <algorithm>
#include <random>

#include "features/record/stop_source.h"

namespace mixstack::record {
namespace {

constexpr std::uint64_t kPeriod = 3'000'000;         // ns, between looks
constexpr std::uint64_t kMostOfTime = 10;            // looks take a tenth of the time at most
constexpr std::uint64_t kRegionsLife = 200'000'000;  // ns: reading them costs more than all else

}  // namespace

SuspensionWatch::SuspensionWatch(SharedSession& session)
    : session_(session), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

SuspensionWatch::~SuspensionWatch() = default;

void SuspensionWatch::watch(const std::stop_token& stop) {
  // Random pauses: looks at a fixed rate could keep step with a periodic program.
  std::minstd_rand random(static_cast<std::uint32_t>(monotonic_ns()));
  while (!stop.stop_requested()) {
    const std::uint64_t begin = monotonic_ns();
    if (!look()) return;
    const std::uint64_t end = monotonic_ns();
    const std::uint64_t pause = std::max(kPeriod / 2 + random() % kPeriod, kMostOfTime * (end - begin));
    if (!sleep_until(end + pause, stop) && stop.stop_requested()) return;
  }
}

bool SuspensionWatch::look() {
  const std::uint64_t now = monotonic_ns();
  const std::lock_guard lock(session_.mutex);
  WalkContext context;
  if (now - regions_ns_ < kRegionsLife) context.regions = regions_;
  if (!context.regions) regions_ns_ = now;
  auto walker = session_.session->walker_of(std::move(context), {});
  if (!walker) return false;
  regions_ = walker->regions();
  const auto runtimes = walker->runtimes();
  if (runtimes.empty()) return false;
  looks_++;
  for (const dotnet::Runtime& runtime : runtimes)
    if (const auto& suspension = runtime.summary().suspension) found_[suspension->by]++;
  return true;
}

std::map<ThreadId, double> SuspensionWatch::end() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::map<ThreadId, double> shares;
  for (const auto& [thread, times] : found_)
    shares[thread] = static_cast<double>(times) / static_cast<double>(std::max<std::uint64_t>(looks_, 1));
  return shares;
}

}  // namespace mixstack::record
