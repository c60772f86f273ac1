// The runtimes' memory: what they use it for, and their objects by type.
#include "session/heap_types.h"
#include "session/process_session.h"

namespace mixstack::session {

Result<std::vector<ManagedMemory>> ProcessSession::managed_memory() {
  if (facts_->runtimes().empty()) {
    if (auto read = refresh(); !read) return fail(read.error());
  }
  const WorkerPool::Lease worker = this->worker();
  std::vector<ManagedMemory> all;
  for (const auto& runtime : worker->runtimes()) {
    all.push_back(runtime->managed_memory());
    all.back().version = runtime->summary().version;
  }
  return all;
}

Result<std::vector<HeapTypes>> ProcessSession::heap_types(const HeapTypesOptions& options) {
  if (facts_->runtimes().empty()) {
    if (auto read = refresh(); !read) return fail(read.error());
  }
  const WorkerPool::Lease worker = this->worker();
  const bool is_core = !target_->info().core_path.empty();
  std::vector<HeapTypes> all;
  for (const auto& runtime : worker->runtimes()) {
    const auto counter = runtime->heap_counter();
    if (!counter) {
      all.emplace_back().why_not = "this runtime does not describe its heap";
      continue;
    }
    const auto old_collections = [&]() -> std::optional<std::uint64_t> {
      constexpr std::size_t kOne = 1;
      const RuntimeCounters counters = runtime->counters(worker->modules());
      if (counters.generations.size() > kOne) return counters.generations[kOne].collections;
      return counter->collections(target_->memory());
    };
    all.push_back(
        count_heap_types({target_->info().pid, target_->memory(), is_core, *counter, old_collections, options}));
  }
  return all;
}

}  // namespace mixstack::session
