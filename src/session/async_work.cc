#include "session/async_work.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/words/wait_kinds.h"
#include "dotnet/async/waiting_thread.h"
#include "dotnet/bcl/thread_pool.h"
#include "session/waits.h"

namespace mixstack::session {
namespace {

using dotnet::objects::WaitFrame;
using Ids = std::unordered_map<ThreadId, ThreadId>;

bool waits_for_tasks(const ThreadWait& wait) { return facts_of(wait.kind).is_of_tasks; }

/// The threads of the common instant that a runtime knows, as it wants to see them.
struct Asked {
  std::vector<ThreadDump*> dumps;
  std::vector<std::span<const WaitFrame>> frames;
  std::vector<dotnet::objects::WaitingThread> threads;
  std::vector<dotnet::objects::WaitedTask> tasks;
};

Asked ask(ProcessDump& dump, const Capture& capture, const dotnet::ManagedRuntime& runtime, const WaitFrames& frames) {
  constexpr std::size_t kMostTasks = 1 << 14;  // of all threads
  std::unordered_set<ThreadId> captured;
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured.insert(t.tid);
  Asked asked;
  for (std::size_t i = 0; i < std::min(frames.size(), dump.threads.size()); i++) {
    ThreadDump& t = dump.threads[i];
    if (!captured.contains(t.tid) || runtime.thread(t.ns_tid) == nullptr) continue;
    asked.dumps.push_back(&t);
    asked.frames.emplace_back(frames[i]);
  }
  for (std::size_t i = 0; i < asked.dumps.size(); i++) {
    const ThreadDump& t = *asked.dumps[i];
    asked.threads.push_back({runtime.thread(t.ns_tid), &t.registers, asked.frames[i]});
    if (!t.wait || !waits_for_tasks(*t.wait)) continue;
    if (t.wait->others.empty()) asked.tasks.push_back({t.ns_tid, t.wait->object.address});
    for (std::size_t o = 0; o < t.wait->others.size() && asked.tasks.size() < kMostTasks; o++)
      asked.tasks.push_back({t.ns_tid, t.wait->others[o].address});
  }
  return asked;
}

/// A worker has PortableThreadPool's loop below its frames; an idle one waits in the loop itself.
void find_workers(const Asked& asked, ThreadPool& pool) {
  for (std::size_t i = 0; i < asked.dumps.size(); i++) {
    const auto& frames = asked.frames[i];
    const auto calls = [&frames](std::string_view part) {
      return std::any_of(frames.begin(), frames.end(), [part](const WaitFrame& f) {
        return f.is_managed && f.method.find(part) != std::string_view::npos;
      });
    };
    if (!calls(dotnet::bcl::kWorkerThread)) continue;
    const bool is_busy = calls(dotnet::bcl::kWorks);
    (is_busy ? pool.busy : pool.idle).push_back(asked.dumps[i]->tid);
  }
}

/// The thread that runs the end of a chain blocks the thread that waits for its beginning, unless a step is only likely
/// or may end by itself.
void add_owners(const Asked& asked, const PendingWork& pending) {
  for (const AsyncChain& chain : pending.chains) {
    if (chain.waiter == 0 || chain.runner == 0 || chain.proof == Proof::likely || chain.gives_up) continue;
    const auto is_it = [&](const ThreadDump* t) { return t->tid == chain.waiter; };
    const auto at = std::find_if(asked.dumps.begin(), asked.dumps.end(), is_it);
    if (at == asked.dumps.end() || facts_of((*at)->wait->kind).is_for_any) continue;
    auto& owners = (*at)->wait->owners;
    if (std::find(owners.begin(), owners.end(), chain.runner) == owners.end()) owners.push_back(chain.runner);
  }
}

}  // namespace

void read_pending_work(ProcessDump& dump, const Capture& capture,
                       std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, const WaitFrames& frames,
                       bool data) {
  Ids ours;  // by the id inside the target's pid namespace
  for (const ThreadDump& t : dump.threads) ours.emplace(t.ns_tid, t.tid);
  for (std::size_t i = 0; i < std::min(runtimes.size(), dump.runtimes.size()); i++) {
    const Asked asked = ask(dump, capture, *runtimes[i], frames);
    auto pending = runtimes[i]->pending_work(asked.tasks, asked.threads, data);
    if (!pending) continue;
    for (AsyncChain& chain : pending->chains)
      for (std::uint32_t* id : {&chain.waiter, &chain.runner})
        if (const auto it = ours.find(*id); it != ours.end()) *id = it->second;
    for (Request& request : pending->requests)
      if (const auto it = ours.find(request.thread); it != ours.end()) request.thread = it->second;
    if (pending->pool) find_workers(asked, *pending->pool);
    add_owners(asked, *pending);
    dump.runtimes[i].pending = std::move(*pending);
  }
}

}  // namespace mixstack::session
