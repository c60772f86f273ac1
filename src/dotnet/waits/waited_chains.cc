// Chains below the tasks that threads wait for.
//
// A thread may wait for thousands of tasks. The chains of the first are told one by one; later ones of the same thread
// that differ in their objects alone are one chain with their number, as those of a scan of the heap are. A chain that
// somebody runs, or that may have more below its end, is always told by itself.
#include <string>
#include <unordered_map>

#include "dotnet/waits/pending_work.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kMostApart = 64;  // of one thread

bool ends_in_objects_alone(AsyncEnd end) {
  switch (end) {
    case AsyncEnd::delay:
    case AsyncEnd::any_task:
    case AsyncEnd::promise:
    case AsyncEnd::semaphore:
    case AsyncEnd::socket:
    case AsyncEnd::work:
    case AsyncEnd::source:
      return true;
    default:
      return false;
  }
}

/// A key that is equal for chains which differ in their objects alone.
std::string likeness_of(const AsyncChain& chain) {
  std::string key(to_string(chain.end));
  for (const std::string* text : {&chain.awaited.type, &chain.awaited.detail, &chain.work}) key += '\n' + *text;
  key += chain.gives_up ? '\1' : '\2';
  key += chain.is_queued ? '\1' : '\2';
  key += to_string(chain.proof);
  for (const AsyncStep& step : chain.steps) key += '\n' + std::to_string(step.state) + ' ' + step.method;
  return key;
}

}  // namespace

void PendingWorkReader::add_waited(std::span<const WaitedTask> waits,
                                   const std::unordered_map<Address, std::uint64_t>& running) {
  std::unordered_map<std::string, std::size_t> alike;  // of one thread, where the chain is
  std::size_t of_thread = 0;
  for (std::size_t i = 0; i < waits.size(); i++) {
    if (i == 0 || waits[i].thread != waits[i - 1].thread) {
      alike.clear();
      of_thread = 0;
    }
    AsyncChain chain = chains_.below(waits[i].task);
    chain.waiter = waits[i].thread;
    for (const AsyncStep& step : chain.steps) told_.insert(step.box);
    const bool may_be_merged = ++of_thread > kMostApart && !chain.is_cut && ends_in_objects_alone(chain.end) &&
                               !is_open(chain) && !running.contains(chain.awaited.address);
    if (may_be_merged) {
      chain.is_queued = is_queued(chain);
      const auto [known, is_new] = alike.try_emplace(likeness_of(chain), found_.chains.size());
      if (!is_new) {
        AsyncChain& first = found_.chains[known->second];
        const std::uint32_t count = first.count + 1;
        if (chain.due && first.due && *chain.due < *first.due) first = std::move(chain);
        first.count = count;
        continue;
      }
    }
    if (found_.chains.size() == kMostChains) {
      found_.has_more_chains = true;
      if (may_be_merged) alike.erase(likeness_of(chain));
      continue;
    }
    found_.chains.push_back(std::move(chain));
  }
}

}  // namespace mixstack::dotnet::objects
