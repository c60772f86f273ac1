// Timers of the runtime that have not gone off.
#pragma once

#include <vector>

#include "dotnet/async/async_chains.h"

namespace mixstack::dotnet::objects {

struct TimersFound {
  Timers timers;
  std::vector<Address> delays;  ///< tasks of Task.Delay behind them
};

/// All queues of System.Threading.TimerQueue, at most `most` timers one by one. Nothing: there are no queues yet, or
/// they cannot be told.
[[nodiscard]] std::optional<TimersFound> read_timers(ManagedObjects& objects, AsyncChains& chains, std::size_t most);

}  // namespace mixstack::dotnet::objects
