#include "dotnet/async/timers.h"

#include <algorithm>

#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/timers.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kMostQueues = 1 << 10;  // one for each processor

void add(ManagedObjects& objects, AsyncChains& chains, Address timer, TimersFound& found) {
  found.timers.count++;
  const Address state = objects.reference(timer, bcl::Timer::kState).value_or(0);
  if (objects.is_a(state, bcl::DelayPromise::kType)) {
    found.timers.delays++;
    found.delays.push_back(state);
  }
  if (objects.is_a(state, bcl::kCancellationSource)) found.timers.timeouts++;
  const auto due = chains.due(timer);
  if (due && (!found.timers.next_due || *due < *found.timers.next_due)) found.timers.next_due = due;
}

}  // namespace

std::optional<TimersFound> read_timers(ManagedObjects& objects, AsyncChains& chains, std::size_t most) {
  const Address queues =
      objects.static_reference(objects.types().find(bcl::kCoreLib, bcl::TimerQueue::kType), bcl::TimerQueue::kInstances)
          .value_or(0);
  if (!objects.array_length(queues)) return std::nullopt;
  TimersFound found;
  for (const Address queue : objects.references_in(queues, kMostQueues)) {
    if (!objects.is_a(queue, bcl::TimerQueue::kType)) continue;
    for (const std::string_view field : {bcl::TimerQueue::kShort, bcl::TimerQueue::kLong}) {
      Address timer = objects.reference(queue, field).value_or(0);
      while (objects.is_a(timer, bcl::Timer::kType)) {
        if (found.timers.count == most) {
          found.timers.has_more = true;
          return found;
        }
        add(objects, chains, timer, found);
        timer = objects.reference(timer, bcl::Timer::kNext).value_or(0);
      }
    }
  }
  return found;
}

}  // namespace mixstack::dotnet::objects
