#include "dotnet/waits/ends_of_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/timers.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint32_t kEnded = 0x01600000;  // faulted, cancelled, ran to completion: Task.cs
constexpr Address kMostOfFrame = 4096, kLowestObject = 1 << 16;
constexpr unsigned kMostFrames = 64;  // of one thread that are looked at

bool is_of_timer(const WaitFrame& f) { return f.is_managed && f.method.starts_with(bcl::kTimerMethods); }

bool is_of_worker(const WaitFrame& f) { return f.is_managed && bcl::is_of_parallel_worker(f.method); }

/// Threads by the object of theirs that is on their stacks.
using ByObject = std::map<Address, std::set<std::uint64_t>>;

/// Objects for which `is_one` answers true, on the words of the frames for which `is_of` does and of the two that each
/// has called.
template <class IsOf, class IsOne>
ByObject objects_in_frames(ManagedObjects& objects, std::span<const WaitingThread> threads, const IsOf& is_of,
                           const IsOne& is_one) {
  ByObject found;
  for (const WaitingThread& at : threads) {
    if (at.thread == nullptr) continue;
    unsigned looked_at = 0;
    for (std::size_t i = 0; i < at.frames.size() && looked_at < kMostFrames; i++) {
      if (!is_of(at.frames[i])) continue;
      looked_at++;
      const Address end = at.frames[i].cfa, inner = i < 2 ? at.frames[0].sp : at.frames[i - 2].cfa;
      for (Address slot = std::max(inner, end - std::min(end, kMostOfFrame)) & ~Address{7}; slot + 8 <= end;
           slot += 8) {
        const Address word = objects.read<Address>(slot).value_or(0);
        if (word >= kLowestObject && word % 8 == 0 && !at.thread->stack.contains(word) && is_one(word))
          found[word].insert(at.thread->os_id);
      }
    }
  }
  return found;
}

/// A timer on more stacks than it runs callbacks is a stale word on some: it names no thread. A handle given to two
/// timers is set by the first that ends, so it names none either.
void add_timers(ManagedObjects& objects, std::span<const WaitingThread> threads, EndsOfWork& ends) {
  const auto is_timer = [&](Address a) { return objects.is_a(a, bcl::Timer::kType); };
  std::set<Address> given_twice;
  for (const auto& [timer, tids] : objects_in_frames(objects, threads, is_of_timer, is_timer)) {
    const Address told = objects.reference(timer, bcl::Timer::kTold).value_or(0);
    const auto running = objects.value<std::int32_t>(timer, bcl::Timer::kRunning);
    if (told == 0 || !running || *running <= 0) continue;
    if (ends.contains(told)) given_twice.insert(told);
    auto& of = ends[told];
    if (tids.size() <= static_cast<std::size_t>(*running)) of.assign(tids.begin(), tids.end());
  }
  for (const Address told : given_twice) ends.erase(told);
}

void add_workers(ManagedObjects& objects, std::span<const WaitingThread> threads, EndsOfWork& ends) {
  const auto is_shared = [&](Address a) {
    const TypeFacts* type = objects.types().at(objects.type_of(a));
    return type != nullptr && type->name.starts_with(bcl::kParallelState) &&
           objects.is_a(a, bcl::CompletionSource::kType);
  };
  const auto found = objects_in_frames(objects, threads, is_of_worker, is_shared);
  std::map<std::uint64_t, unsigned> calls;
  for (const auto& [shared, tids] : found)
    for (const std::uint64_t tid : tids) calls[tid]++;
  for (const auto& [shared, tids] : found) {
    const Address task = objects.reference(shared, bcl::CompletionSource::kTask).value_or(0);
    const auto flags = objects.value<std::uint32_t>(task, bcl::Task::kFlags);
    if (task == 0 || !flags || (*flags & kEnded) != 0) continue;
    // A thread works for one call at a time: of several, all but one are left from before.
    for (const std::uint64_t tid : tids)
      if (calls[tid] == 1) ends[task].push_back(tid);
  }
}

}  // namespace

bool may_end_work(std::span<const WaitFrame> frames) {
  return std::any_of(frames.begin(), frames.end(),
                     [](const WaitFrame& f) { return is_of_timer(f) || is_of_worker(f); });
}

EndsOfWork ends_of_work(ManagedObjects& objects, std::span<const WaitingThread> threads) {
  EndsOfWork ends;
  add_timers(objects, threads, ends);
  add_workers(objects, threads, ends);
  std::erase_if(ends, [](const auto& end) { return end.second.empty(); });
  return ends;
}

}  // namespace mixstack::dotnet::objects
