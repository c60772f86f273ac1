// Input: a task, in the memory of one capture. Output: the chain of async methods that await it or that it awaits, and
// the end of it: what the innermost waits for.
// Algorithm: down, from a method's state machine to what its awaiter holds, through tasks that stand for others; up, by
// the continuation that a task keeps. A step counts only where both sides say so: the upper one awaits the lower, and
// the lower one continues with the upper. The type of the last task tells the end.
// Order: tasks that stand for others are followed before a type decides, because their types say nothing of the end.
// Bounds: a chain has at most its limit of methods; a cycle ends it.
#include "dotnet/async/async_chains.h"

#include <algorithm>
#include <cstdint>

#include "dotnet/async/sockets.h"
#include "dotnet/bcl/sockets_and_requests.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/timers.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::int32_t kRunning = -1;  // of a state machine that has begun

/// A timer's time that says "never" (Timeout.UnsignedInfinite in src/System/Threading/Timer.cs).
constexpr std::uint32_t kNever = 0xffffffff;

/// Kinds of tasks of the core library, by their types' names.
struct KnownTask {
  std::string_view part;
  AsyncEnd end;
};
constexpr KnownTask kKnown[] = {
    {bcl::kDelay, AsyncEnd::delay},           {bcl::kWhenAll, AsyncEnd::all_tasks},
    {bcl::kWhenAny, AsyncEnd::any_task},      {bcl::kWhenAnyOfTwo, AsyncEnd::any_task},
    {bcl::kOnInvoke, AsyncEnd::any_task},     {bcl::kSemaphoreTask, AsyncEnd::semaphore},
    {bcl::kOnCountdown, AsyncEnd::all_tasks},
};

}  // namespace

std::optional<std::chrono::milliseconds> AsyncChains::due(Address timer) {
  const auto start = objects_.value<std::int64_t>(timer, bcl::Timer::kStart);
  const auto time = objects_.value<std::uint32_t>(timer, bcl::Timer::kDue);
  if (!now_ || !start || !time || *time == kNever) return std::nullopt;
  const std::uint64_t left = static_cast<std::uint64_t>(*start) + *time - static_cast<std::uint64_t>(*now_);
  return std::chrono::milliseconds(static_cast<std::int64_t>(left));
}

/// A continuation names its task in the first field. In the second does Task.CancellationPromise, which is made only
/// where there is a time-out or a token that may be cancelled (Task.WaitAsync in src/System/Threading/Tasks/Task.cs).
AsyncChains::Behind AsyncChains::behind(Address task) {
  if (!machines_.is_task(task)) return {};
  if (const Address source = machines_.source_behind(task); source != 0) return {source, false};
  for (const std::string_view field : {bcl::ContinuationTask::kAntecedent, bcl::CancellationPromise::kTask}) {
    const Address other = objects_.reference(task, field).value_or(0);
    if (other != 0 && other != task && machines_.is_task(other))
      return {other, field == bcl::CancellationPromise::kTask};
  }
  return {};
}

bool AsyncChains::joins_others(Address task) {
  const Address type = objects_.type_of(task);
  return machines_.ends_with_workers(task) ||
         std::any_of(bcl::kJoining.begin(), bcl::kJoining.end(),
                     [&](std::string_view name) { return objects_.types().is_core(type, name); });
}

/// A task that runs nothing: of no class of its own, as those are that a TaskCompletionSource makes, or one that ends
/// with tasks which it does not name. Others are told by their classes.
bool AsyncChains::is_promise(Address task) {
  const TypeFacts* type = objects_.types().at(objects_.type_of(task));
  const bool is_plain = type != nullptr && (type->name == bcl::Task::kType || type->name == bcl::kTaskOfValue);
  return is_plain || joins_others(task);
}

void AsyncChains::end_at(Address object, AsyncChain& chain) {
  chain.awaited = {object, objects_.type_name(object), {}};
  const TypeFacts* type = objects_.types().at(objects_.type_of(object));
  if (type == nullptr) return;
  if (!machines_.is_task(object)) {
    chain.end = AsyncEnd::source;
    if (!objects_.is_a(object, bcl::SocketEventArgs::kType)) return;
    chain.end = AsyncEnd::socket;
    const SocketEnd socket = end_of_socket(objects_, object);
    chain.awaited.detail = socket.peer;
    chain.descriptor = socket.descriptor;
    return;
  }
  if (machines_.is_completed(object)) {
    chain.end = AsyncEnd::completed;
    return;
  }
  for (const KnownTask& known : kKnown)
    if (objects_.types().at(objects_.type_of(object))->name.find(known.part) != std::string::npos)
      chain.end = known.end;
  if (chain.end == AsyncEnd::delay) {
    if (const Address timer = objects_.reference(object, bcl::DelayPromise::kTimer).value_or(0); timer != 0)
      chain.due = due(timer);
    return;
  }
  if (chain.end != AsyncEnd::unknown) return;
  const Address action = objects_.reference(object, bcl::Task::kAction).value_or(0);
  chain.end = action != 0 ? AsyncEnd::work : is_promise(object) ? AsyncEnd::promise : AsyncEnd::source;
  if (action != 0 && delegates_.is_delegate(action)) chain.work = delegates_.method(action);
  if (chain.end == AsyncEnd::promise) find_place(chain);
}

/// A request of HttpClient that waits for a connection has the waiter, whose task it awaits, and the pool of that host
/// in its innermost methods (HttpConnectionPool.Http1.cs).
void AsyncChains::find_place(AsyncChain& chain) {
  constexpr std::size_t kMostMethods = 4, kMostWords = 64, kMostHost = 80;
  Address pool = 0;
  bool is_waiter = false;
  for (std::size_t i = 0; i < std::min(chain.steps.size(), kMostMethods); i++) {
    const auto machine = machines_.machine_of(chain.steps[chain.steps.size() - 1 - i].box);
    if (!machine) continue;
    const std::uint32_t size = machines_.machine_layout(machine->method_table).size;
    for (std::uint32_t at = 0; at + 8 <= size && at / 8 < kMostWords; at += 8) {
      const Address word = objects_.read<Address>(machine->address + at).value_or(0);
      if (word == 0 || word % 8 != 0 || !objects_.header_is_clear(word)) continue;
      if (objects_.is_a(word, bcl::HttpPool::kType)) pool = word;
      is_waiter |= objects_.is_a(word, bcl::kHttpWaiter) &&
                   objects_.reference(word, bcl::CompletionSourceOfValue::kTask) == chain.awaited.address;
    }
  }
  if (!is_waiter || pool == 0) return;
  chain.end = AsyncEnd::source;
  chain.awaited.type = bcl::HttpPool::kType;
  const Address authority = objects_.reference(pool, bcl::HttpPool::kAuthority).value_or(0);
  std::string host =
      objects_.text(objects_.reference(authority, bcl::HttpAuthority::kPlainHost).value_or(0), kMostHost);
  if (host.empty())
    host = objects_.text(objects_.reference(authority, bcl::HttpAuthority::kHost).value_or(0), kMostHost);
  auto port = objects_.value<std::int32_t>(authority, bcl::HttpAuthority::kPort);
  if (!port) port = objects_.value<std::int32_t>(authority, bcl::HttpAuthority::kPlainPort);
  if (!host.empty() && port) host += ":" + std::to_string(*port);
  const auto limit = objects_.value<std::int32_t>(pool, bcl::HttpPool::kLimit);
  const auto used = objects_.value<std::int32_t>(pool, bcl::HttpPool::kUsed);
  chain.awaited.detail = host;
  if (limit && used && *limit > 0 && *limit != INT32_MAX)
    chain.awaited.detail += (host.empty() ? "" : ", ") + std::string("limit ") + std::to_string(*limit) + ", " +
                            std::to_string(*used) + " in use";
}

bool AsyncChains::may_run(const AsyncChain& chain) {
  if (chain.is_queued || (chain.end != AsyncEnd::yielded && chain.end != AsyncEnd::completed)) return false;
  RuntimeAsync& tasks = machines_.runtime_async();
  return !tasks.tells_what_runs() && !chain.steps.empty() && tasks.is_task(chain.steps.back().box);
}

/// The methods behind a task of `runtime_async`; false: the chain ends with them.
bool AsyncChains::add_suspended(Address task, AsyncChain& chain) {
  if (machines_.is_completed(task)) {
    chain.end = AsyncEnd::completed;
    return false;
  }
  if (machines_.runtime_async().innermost(task) == 0) {
    chain.end = AsyncEnd::running;
    chain.awaited = {task, objects_.type_name(task), {}};
    // Which of its methods, stacks alone tell; who has called it is known of .NET 11.
    const RunningTask* running = machines_.runtime_async().running(task);
    if (running == nullptr) return false;
    if (!machines_.add_steps(task, chain.steps)) chain.is_cut = true;
    if (!running->method.empty()) chain.steps.push_back({running->method, task, kRunning});
    chain.runner = static_cast<std::uint32_t>(running->thread);
    return false;
  }
  if (!machines_.add_steps(task, chain.steps)) chain.is_cut = true;
  return true;
}

/// The end of a chain awaits the method of `step`. A method goes on only when the task that it awaits has ended, so of
/// a cycle of tasks none ever ends; of other boxes, which are used again, two readings may be of two methods.
void AsyncChains::close(std::size_t step, AsyncChain& chain) {
  if (step >= chain.steps.size()) {  // tasks alone
    chain.is_cut = true;
    return;
  }
  chain.end = AsyncEnd::cycle;
  chain.awaited = {chain.steps[step].box, objects_.type_name(chain.steps[step].box), {}};
  const auto begin = chain.steps.begin() + static_cast<std::ptrdiff_t>(step);
  if (!std::all_of(begin, chain.steps.end(), [this](const AsyncStep& s) { return machines_.is_task(s.box); }))
    chain.proof = Proof::likely;
}

void AsyncChains::close_joined(std::size_t lower, AsyncChain& chain) {
  const auto begin = chain.steps.begin(), middle = begin + static_cast<std::ptrdiff_t>(lower);
  for (auto at = middle; at < chain.steps.end(); ++at) {
    const auto first = std::find_if(begin, middle, [at](const AsyncStep& s) { return s.box == at->box; });
    if (first == middle) continue;
    chain.steps.erase(at, chain.steps.end());
    chain.is_cut = false;
    return close(static_cast<std::size_t>(first - begin), chain);
  }
}

AsyncChain AsyncChains::below(Address task) {
  struct Seen {
    Address task = 0;
    std::size_t steps = 0;  ///< before it
  };
  AsyncChain chain;
  std::vector<Seen> seen;
  for (Address at = task; at != 0;) {
    const auto before = std::find_if(seen.begin(), seen.end(), [at](const Seen& s) { return s.task == at; });
    if (before != seen.end()) {
      close(before->steps, chain);
      return chain;
    }
    if (seen.size() == kMostSteps || chain.steps.size() >= kMostSteps) {
      chain.is_cut = true;
      return chain;
    }
    seen.push_back({at, chain.steps.size()});
    const auto machine = machines_.machine_of(at);
    const bool is_runtime_async = !machine && machines_.runtime_async().is_task(at);
    if (!machine && !is_runtime_async) {
      if (const Behind other = behind(at); other.task != 0 && !machines_.is_completed(at)) {
        chain.gives_up |= other.gives_up;
        at = other.task;
        continue;
      }
      end_at(at, chain);
      return chain;
    }
    if (is_runtime_async) {
      if (!add_suspended(at, chain)) return chain;
    } else {
      const auto state = machines_.state_of(*machine);
      if (!state || machines_.is_completed(at)) {
        chain.end = state ? AsyncEnd::completed : AsyncEnd::unknown;
        return chain;
      }
      chain.steps.push_back({machines_.method_of(*machine), at, *state});
      if (*state == kRunning) chain.end = AsyncEnd::running;
      if (*state < 0) return chain;
    }
    const Address awaited = machine ? machines_.awaited_by(*machine, at) : machines_.awaited_by(at);
    if (awaited == 0) {
      if (machines_.is_awaited_by(at, at))
        close(seen.back().steps, chain);
      else
        chain.end = AsyncEnd::yielded;
      return chain;
    }
    if (machines_.is_task(awaited) && machines_.is_completed(awaited)) {
      chain.end = AsyncEnd::completed;
      chain.awaited = {awaited, objects_.type_name(awaited), {}};
      return chain;
    }
    if (!machines_.is_awaited_by(awaited, at)) chain.proof = Proof::likely;
    at = awaited;
  }
  return chain;
}

std::vector<Address> AsyncChains::way_up(Address object) {
  std::vector<Address> way{object};
  while (way.size() < kMostSteps) {
    const auto& next = machines_.continuations(way.back());
    if (next.empty() || std::find(way.begin(), way.end(), next.front()) != way.end()) break;
    way.push_back(next.front());
  }
  return way;
}

}  // namespace mixstack::dotnet::objects
