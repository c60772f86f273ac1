#include "session/heap_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "dotnet/async/heap_reader.h"
#include "process/debugger/debug_session.h"
#include "session/stop_words.h"

namespace mixstack::session {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t kMostStops = 40;  // until one comes outside of a collection
constexpr unsigned kMostLooks = 50;       // at regions that collections change meanwhile
constexpr unsigned kMostFailures = 5;     // of searches
constexpr std::chrono::milliseconds kFirstWait{2}, kLongestWait{100};

std::int64_t runtime_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void use(PendingWork& pending, dotnet::objects::HeapFound found) {
  std::erase_if(pending.chains,
                [&](const AsyncChain& c) { return c.waiter == 0 || found.explained.contains(c.awaited.address); });
  std::move(found.chains.begin(), found.chains.end(), std::back_inserter(pending.chains));
  pending.has_more_chains = found.has_more;
  pending.gc = found.gc;
  pending.heap = found.scan;
}

std::vector<AsyncChain> waited_chains(const PendingWork& pending) {
  std::vector<AsyncChain> chains;
  for (const AsyncChain& c : pending.chains)
    if (c.waiter != 0) chains.push_back(c);
  return chains;
}

/// In a stop that no collection fell into.
void search_process(std::uint32_t pid, const MemoryReader& memory, dotnet::objects::HeapReader& heap,
                    PendingWork& pending) {
  const auto told = waited_chains(pending);
  const std::uint64_t most = 2 * pending.gc->bytes + (64 << 20);  // it was allowed for what there was a moment ago
  auto wait = kFirstWait;
  unsigned failures = 0;
  for (std::uint32_t stops = 1; stops <= kMostStops; stops++) {
    const auto begin = steady_clock::now();
    auto hold = process::stop_process(pid);
    if (!hold) {
      pending.no_heap = stop_words(hold.error());
      return;
    }
    if (heap.is_moving(memory)) {
      hold->release();
      std::this_thread::sleep_for(wait);
      wait = std::min(wait * 2, kLongestWait);
      continue;
    }
    auto found = heap.read(memory, runtime_clock(), told, most);
    hold->release();
    if (!found) {  // not all that a collection changes is announced by it
      pending.no_heap = found.error().text;
      if (++failures == kMostFailures) return;
      std::this_thread::sleep_for(wait);
      wait = std::min(wait * 2, kLongestWait);
      continue;
    }
    pending.no_heap.clear();
    found->scan.pause = steady_clock::now() - begin;
    found->scan.stops = stops;
    use(pending, std::move(*found));
    return;
  }
  if (pending.no_heap.empty())
    pending.no_heap = fmt::format("a garbage collection was under way at each of {} stops", kMostStops);
}

void search_core(const MemoryReader& memory, dotnet::objects::HeapReader& heap, PendingWork& pending) {
  if (heap.is_moving(memory)) {
    pending.no_heap = "the core was taken during a garbage collection, in which objects are moved";
    return;
  }
  auto found = heap.read(memory, std::nullopt, waited_chains(pending), pending.gc->bytes);
  if (!found) {
    pending.no_heap = found.error().text;
  } else {
    use(pending, std::move(*found));
  }
}

}  // namespace

void read_heaps(ProcessDump& dump, const MemoryReader& memory, bool is_frozen,
                std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes,
                const std::function<bool(std::uint64_t)>& wanted, bool types_too) {
  for (std::size_t i = 0; i < std::min(runtimes.size(), dump.runtimes.size()); i++) {
    if (!dump.runtimes[i].pending) continue;
    PendingWork& pending = *dump.runtimes[i].pending;
    dotnet::objects::HeapReader* heap = runtimes[i]->heap();
    if (heap == nullptr) continue;
    auto before = heap->heap();
    for (unsigned tries = 1; wanted && !is_frozen && !before && tries < kMostLooks; tries++) {
      std::this_thread::sleep_for(kFirstWait);
      before = heap->heap(memory);
    }
    if (before) pending.gc = before->state;
    if (types_too) heap->prepare();
    if (!wanted) continue;
    if (!before) {
      pending.no_heap = before.error().text;
      continue;
    }
    if (!wanted(before->state.bytes)) {
      pending.no_heap = "its size is above the limit";
      continue;
    }
    heap->prepare();
    if (is_frozen) {
      search_core(memory, *heap, pending);
    } else {
      search_process(dump.target.pid, memory, *heap, pending);
    }
  }
}

}  // namespace mixstack::session
