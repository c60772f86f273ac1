// The runtimes' memory: what they use it for, and their objects by type.
#include "dotnet/contracts/layouts.h"
#include "dotnet/heap/runtime_ranges.h"
#include "session/aot_heap.h"
#include "session/heap_holders.h"
#include "session/heap_types.h"
#include "session/native_aot.h"
#include "session/process_session.h"

namespace mixstack::session {
namespace {

constexpr const char* kAotHeap =
    "NativeAOT before .NET 11: its heap is not known; what it uses is in other lines, most of it not known";
constexpr const char* kAotHolders = "NativeAOT: who holds its objects is not told, for its roots are not read";

/// The collector describes itself from .NET 11 on.
ManagedMemory aot_memory(const NativeAot& aot, Target& target) {
  ManagedMemory memory;
  if (aot.descriptor) {
    const dotnet::Layouts layouts = dotnet::resolve_layouts(*aot.descriptor);
    memory = dotnet::objects::collector_ranges({target.memory(), layouts}, target.info().page_size);
  } else {
    memory.missing.push_back({{ErrorCode::unsupported, 0, 0}, "GC", kAotHeap});
  }
  memory.version = aot.summary.version;
  return memory;
}

std::optional<NativeAot> aot_of(const images::ModuleMap& modules, Target& target) {
  return find_native_aot(modules, target.info().executable, target.loaded_memory());
}

HeapTypes aot_types(const NativeAot& aot, const images::ModuleMap& modules, Target& target,
                    const HeapTypesOptions& options) {
  HeapTypes refused;
  const auto heap = AotHeap::open(aot, modules, target, refused.why_not);
  if (!heap) return refused;
  const TargetInfo& info = target.info();
  return count_heap_types({info.pid, target.memory(), !info.core_path.empty(), heap->counter(),
                           [&] { return heap->old_collections(); }, options});
}

/// Collections of generation 1 and above, as the runtime counts them itself.
std::optional<std::uint64_t> old_collections_of(dotnet::ManagedRuntime& runtime, const images::ModuleMap& modules) {
  constexpr std::size_t kOne = 1;
  const RuntimeCounters counters = runtime.counters(modules);
  if (counters.generations.size() <= kOne) return std::nullopt;
  return counters.generations[kOne].collections;
}

}  // namespace

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
  if (all.empty())
    if (const auto aot = aot_of(worker->modules(), *target_)) all.push_back(aot_memory(*aot, *target_));
  return all;
}

Result<std::vector<HeapTypes>> ProcessSession::heap_types(const HeapTypesOptions& options) {
  if (facts_->runtimes().empty()) {
    if (auto read = refresh(); !read) return fail(read.error());
  }
  const WorkerPool::Lease worker = this->worker();
  const bool is_core = !target_->info().core_path.empty();
  std::vector<HeapTypes> all;
  if (worker->runtimes().empty())
    if (const auto aot = aot_of(worker->modules(), *target_))
      all.push_back(aot_types(*aot, worker->modules(), *target_, options));
  for (const auto& runtime : worker->runtimes()) {
    const auto counter = runtime->heap_counter();
    if (!counter) {
      all.emplace_back().why_not = "this runtime does not describe its heap";
      continue;
    }
    const auto old_collections = [&] {
      const auto counted = old_collections_of(*runtime, worker->modules());
      return counted ? counted : counter->collections(target_->memory());
    };
    all.push_back(
        count_heap_types({target_->info().pid, target_->memory(), is_core, *counter, old_collections, options}));
  }
  return all;
}

Result<std::vector<HeapHolders>> ProcessSession::holders(const HoldersOptions& options) {
  if (facts_->runtimes().empty()) {
    if (auto read = refresh(); !read) return fail(read.error());
  }
  const WorkerPool::Lease worker = this->worker();
  const bool is_core = !target_->info().core_path.empty();
  std::vector<HeapHolders> all;
  if (worker->runtimes().empty() && aot_of(worker->modules(), *target_)) all.emplace_back().why_not = kAotHolders;
  for (const auto& runtime : worker->runtimes()) {
    const auto reader = runtime->holder_reader();
    if (!reader) {
      all.emplace_back().why_not = "this runtime does not describe its heap";
      continue;
    }
    const auto old_collections = [&] {
      const auto counted = old_collections_of(*runtime, worker->modules());
      return counted ? counted : reader->collections(target_->memory());
    };
    all.push_back(find_heap_holders({*target_, is_core, *reader, old_collections, options}));
  }
  return all;
}

}  // namespace mixstack::session
