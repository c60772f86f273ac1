// The runtimes' own counters.
#include "session/process_session.h"

namespace mixstack::session {

Result<std::vector<RuntimeCounters>> ProcessSession::counters() {
  if (facts_->runtimes().empty()) {  // it may have one by now
    auto regions = target_->regions();
    if (!regions) return fail(regions.error());
    follow_mappings(std::make_shared<const std::vector<Region>>(std::move(*regions)));
  }
  const WorkerPool::Lease worker = this->worker();
  std::vector<RuntimeCounters> all;
  for (const auto& runtime : worker->runtimes()) all.push_back(runtime->counters(worker->modules()));
  return all;
}

std::vector<std::optional<std::uint64_t>> ProcessSession::collections() {
  const WorkerPool::Lease worker = this->worker();
  std::vector<std::optional<std::uint64_t>> all;
  for (const auto& runtime : worker->runtimes()) all.push_back(runtime->collections());
  return all;
}

}  // namespace mixstack::session
