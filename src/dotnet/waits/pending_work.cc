// Pending work of a runtime: thread pool, timers, chains of async methods, requests.
// Input: threads with frames, the tasks they wait for and run. Output: PendingWork.
// Algorithm: (1) collect roots (timers, queued items, sockets, dispatched tasks), and each one's way up to the methods
// that await it; (2) a chain down from each task that a thread waits for; (3) where it ends in a promise, extend it by
// the ways, and by tasks on the stacks of threads that run async methods, since promises do not name what they wait
// for; (4) ways that no thread waits for become chains; (5) add runners, contexts, schedulers, requests, values: last,
// since all need the ends of the chains.
// Bounds: kMostChains, kMostTimers, kMostSockets, kMostWords of a stack, kMostLinked, kMostJoined, kMostValues.
#include "dotnet/waits/pending_work.h"

#include <algorithm>
#include <utility>

#include "dotnet/async/async_callers.h"
#include "dotnet/async/async_dispatchers.h"
#include "dotnet/async/sockets.h"
#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/threads.h"
#include "dotnet/bcl/timers.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr Address kLowestObject = 1 << 16;
constexpr std::uint32_t kInvoked = 0x20000;  // TASK_STATE_DELEGATE_INVOKED, Task.cs

/// The outermost frame of a method; the number of frames: there is none.
std::size_t outermost_frame_of(const WaitingThread& at, std::string_view method) {
  for (std::size_t i = at.frames.size(); i-- > 0;)
    if (at.frames[i].is_managed && !at.frames[i].method.empty() &&
        bare_method(at.frames[i].method) == bare_method(method))
      return i;
  return at.frames.size();
}

bool has_frame_of(const WaitingThread& at, std::string_view method) {
  return std::any_of(at.frames.begin(), at.frames.end(), [method](const WaitFrame& f) {
    return f.is_managed && !f.method.empty() && bare_method(f.method) == bare_method(method);
  });
}

/// Boxes call their methods in the execution context of who awaited.
bool is_of_context(const WaitFrame& frame) { return frame.method.starts_with(bcl::kContextMethods); }

/// Whether a frame resumes methods that the runtime has suspended.
bool has_frame_of_dispatch(const WaitingThread& at) {
  return std::any_of(at.frames.begin(), at.frames.end(),
                     [](const WaitFrame& f) { return f.is_managed && bare_method(f.method) == bcl::kDispatches; });
}

/// Async methods that go on are called by their boxes.
bool has_frame_of_async(const WaitingThread& at) {
  return has_frame_of_dispatch(at) || std::any_of(at.frames.begin(), at.frames.end(), [](const WaitFrame& f) {
           return f.is_managed && (f.method.ends_with(" [async]") || is_frame_of_box(f));
         });
}

/// The methods that the frames of `dispatches_continuations` have called, innermost first; empty: not known. Each is
/// called by a stub.
std::vector<std::string_view> dispatched_methods(const WaitingThread& at) {
  constexpr std::string_view kStub = "[stub: AsyncResume]";
  std::vector<std::string_view> methods;
  std::string_view method;
  bool is_stub = false;  // the frame further in
  for (const WaitFrame& f : at.frames) {
    if (!f.is_managed) continue;
    if (dispatches_continuations(f.method)) methods.push_back(is_stub ? method : std::string_view());
    is_stub = f.method.starts_with(kStub);
    if (!is_stub) method = f.method;
  }
  return methods;
}

std::vector<Address> words_of(const ManagedObjects& objects, const WaitingThread& at) {
  Address end = at.frames.front().sp;
  for (const WaitFrame& f : at.frames)
    if (f.is_managed && f.cfa > end) end = f.cfa;
  const Address begin = at.frames.front().sp & ~Address{7};
  std::vector<Address> words(std::min<std::size_t>((end - begin) / 8, PendingWorkReader::kMostWords));
  const auto n = objects.memory().reader().read_some(begin, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / sizeof(Address) : 0);
  for (unsigned r = 0; at.registers != nullptr && r < Registers::kMax; r++)
    if (const auto v = at.registers->get(r)) words.push_back(*v);
  return words;
}

}  // namespace

/// Tasks that a thread has begun and is not done with, by which thread: besides those that it runs, others further out
/// on its stack, in which it runs these (Task.Wait and RunSynchronously take a task's work over, Parallel.For does).
void PendingWorkReader::add_outer_tasks(std::span<const WaitingThread> threads,
                                        std::unordered_map<Address, std::uint64_t>& running) {
  constexpr Address kMostOfFrame = 4096;
  std::unordered_map<Address, std::unordered_set<std::uint64_t>> found;
  for (const WaitingThread& at : threads) {
    if (at.thread == nullptr) continue;
    const auto runs = [&](const WaitFrame& f) { return f.is_managed && bare_method(f.method) == bcl::kRunsTask; };
    if (std::count_if(at.frames.begin(), at.frames.end(), runs) < 2) continue;
    for (std::size_t i = 2; i < at.frames.size(); i++) {
      if (!runs(at.frames[i])) continue;
      // The task is in a register that its callee keeps, or in its own frame.
      const Address end = at.frames[i].cfa, begin = std::max(at.frames[i - 2].cfa, end - std::min(end, kMostOfFrame));
      for (Address slot = begin; slot + 8 <= end; slot += 8) {
        const Address task = objects_.read<Address>(slot).value_or(0);
        if (task < kLowestObject || task % 8 != 0 || at.thread->stack.contains(task) || !machines_.is_task(task))
          continue;
        const auto flags = objects_.value<std::uint32_t>(task, bcl::Task::kFlags);
        if (flags && (*flags & kInvoked) != 0 && !machines_.is_completed(task)) found[task].insert(at.thread->os_id);
      }
    }
  }
  // One that two threads seem to run is left on the stack of one of them from before.
  for (const auto& [task, tids] : found)
    if (tids.size() == 1) running.emplace(task, *tids.begin());
}

/// A task whose work is done and that waits for its children ends when these have: each that a thread runs is what the
/// chain ends in.
void PendingWorkReader::follow_to_children(const std::unordered_map<Address, std::uint64_t>& running) {
  constexpr std::uint32_t kWaitsForChildren = 0x800000;  // TASK_STATE_WAITING_ON_CHILDREN, Task.cs
  std::unordered_map<Address, std::vector<Address>> children;
  for (const auto& [task, tid] : running)
    if (const Address properties = objects_.reference(task, bcl::Task::kContingent).value_or(0); properties != 0)
      if (const Address parent = objects_.reference(properties, bcl::Contingent::kParent).value_or(0); parent != 0)
        children[parent].push_back(task);
  if (children.empty()) return;
  std::vector<AsyncChain> more;
  for (AsyncChain& chain : found_.chains) {
    const auto known = children.find(chain.awaited.address);
    if (chain.end != AsyncEnd::work || chain.runner != 0 || known == children.end()) continue;
    const auto flags = objects_.value<std::uint32_t>(chain.awaited.address, bcl::Task::kFlags);
    if (!flags || (*flags & kWaitsForChildren) == 0) continue;
    bool is_first = true;
    for (const Address child : known->second) {
      AsyncChain one = chain;
      one.awaited = {child, objects_.type_name(child), {}};
      one.is_queued = false;
      one.runner = static_cast<std::uint32_t>(running.at(child));
      const Address action = objects_.reference(child, bcl::Task::kAction).value_or(0);
      if (action != 0 && delegates_.is_delegate(action)) one.work = delegates_.method(action);
      if (std::exchange(is_first, false))
        chain = one;
      else
        more.push_back(std::move(one));
      if (found_.chains.size() + more.size() >= kMostChains) break;
    }
  }
  for (AsyncChain& chain : more) found_.chains.push_back(std::move(chain));
}

/// A task that ends with the work of several threads has a chain for each.
void PendingWorkReader::name_who_ends() {
  std::vector<AsyncChain> more;
  for (AsyncChain& chain : found_.chains) {
    const auto ends = ends_.find(chain.awaited.address);
    if (chain.end != AsyncEnd::promise || ends == ends_.end()) continue;
    for (const std::uint64_t tid : ends->second) {
      AsyncChain& one = tid == ends->second.front() ? chain : more.emplace_back(chain);
      one.runner = static_cast<std::uint32_t>(tid);
      if (found_.chains.size() + more.size() >= kMostChains) break;
    }
  }
  for (AsyncChain& chain : more) found_.chains.push_back(std::move(chain));
}

/// The source's registrations whose running callback a method waits for; 0: another one runs, or it cannot be told.
/// Since .NET 11 the method has no state machine: what it was called for is among the words that it keeps.
Address PendingWorkReader::registrations_behind(Address box) {
  const auto runs = [this](Address all, const auto& is_waited_for) {
    const auto running = objects_.value<std::int64_t>(all, bcl::Registrations::kRunning);
    return running && *running != 0 && is_waited_for(*running);
  };
  if (const auto machine = machines_.machine_of(box)) {
    const Address all = objects_.reference(*machine, "<>4__this").value_or(0);
    const auto waited = objects_.value<std::int64_t>(*machine, bcl::AwaitsCallback::kCallback);
    return runs(all, [&](std::int64_t id) { return id == waited; }) ? all : 0;
  }
  constexpr unsigned kMostHeads = 4;
  constexpr std::size_t kMostWords = 16;
  RuntimeAsync& suspended = machines_.runtime_async();
  if (!suspended.is_task(box)) return 0;
  Address at = suspended.innermost(box);
  for (unsigned n = 0; n < kMostHeads && at != 0; n++) {
    const auto continuation = suspended.continuations().at(at);
    if (!continuation) return 0;
    if (!continuation->has_method) {
      at = continuation->next;
      continue;
    }
    const auto words = objects_.words_in(at, kMostWords);
    const auto keeps = [&](std::int64_t id) {
      return std::find(words.begin(), words.end(), static_cast<Address>(id)) != words.end();
    };
    for (const Address held : suspended.continuations().held_by(*continuation, kMostWords))
      if (objects_.is_a(held, bcl::Registrations::kType) && runs(held, keeps)) return held;
    return 0;
  }
  return 0;
}

/// CancellationTokenRegistration.DisposeAsync comes back to the same await again and again, until the callback that
/// runs is another.
void PendingWorkReader::find_callbacks(std::span<const WaitingThread> threads) {
  for (AsyncChain& chain : found_.chains) {
    if (chain.steps.empty() || bare_method(chain.steps.back().method) != bcl::kAwaitsCallback) continue;
    const Address all = registrations_behind(chain.steps.back().box);
    const auto id = objects_.value<std::int32_t>(all, bcl::Registrations::kThread);
    if (!id || *id <= 0) continue;
    const Address source = objects_.reference(all, bcl::Registrations::kSource).value_or(0);
    chain.end = AsyncEnd::source;
    chain.awaited = {source, objects_.type_name(source), {}};
    chain.is_queued = false;
    chain.runner = 0;
    for (const WaitingThread& t : threads)
      if (t.thread != nullptr && t.thread->id == static_cast<std::uint32_t>(*id))
        chain.runner = static_cast<std::uint32_t>(t.thread->os_id);
  }
}

PendingWork PendingWorkReader::read(std::span<const WaitedTask> waits, std::span<const WaitingThread> threads,
                                    const std::unordered_map<Address, std::uint64_t>& innermost) {
  std::unordered_map<Address, std::uint64_t> running = innermost;
  add_outer_tasks(threads, running);
  ends_ = ends_of_work(objects_, threads);
  for (const auto& [task, tids] : ends_)
    if (machines_.is_task(task)) running.emplace(task, tids.front());
  found_ = {};
  ways_.clear();
  joined_.clear();
  told_.clear();
  found_.pool = pool_.read();
  queued_ = {pool_.items().begin(), pool_.items().end()};
  const auto timers = read_timers(objects_, chains_, kMostTimers);
  std::vector<Address> roots;
  if (timers) {
    found_.timers = timers->timers;
    roots = timers->delays;
  }
  roots.insert(roots.end(), pool_.items().begin(), pool_.items().end());
  const auto sockets = read_socket_waits(objects_, delegates_, kMostSockets);
  roots.insert(roots.end(), sockets.begin(), sockets.end());
  find_dispatched(threads, roots);
  for (const Address root : roots) {
    if (ways_.size() == kMostChains) {
      found_.has_more_chains = true;
      break;
    }
    ways_.push_back(chains_.way_up(root));
  }
  add_waited(waits, running);
  // Whether a chain is a worker's of Parallel.ForEachAsync shows only on its stack or on the path up.
  const auto may_be_open = [this](const AsyncChain& c) { return c.end == AsyncEnd::promise || is_open(c); };
  if (std::any_of(found_.chains.begin(), found_.chains.end(), may_be_open)) {
    join_what_runs(threads, running);
    for (const Way& way : ways_)
      for (std::size_t i = 1; i < way.size(); i++) join(way[i], way[i - 1]);
    extend();
  }
  for (const AsyncChain& chain : found_.chains)
    for (const AsyncStep& s : chain.steps) told_.insert(s.box);
  for (const Way& way : ways_) add_unwaited(way);
  for (AsyncChain& chain : found_.chains) {
    chain.is_queued = is_queued(chain);
    const auto runs = running.find(chain.awaited.address);
    if (chain.end == AsyncEnd::work && !chain.is_queued && runs != running.end())
      chain.runner = static_cast<std::uint32_t>(runs->second);
  }
  name_who_ends();
  follow_to_children(running);
  find_contexts(threads);
  find_runners(threads);
  find_callbacks(threads);
  find_schedulers(innermost);
  find_requests(threads);
  if (data_) read_values();
  return std::move(found_);
}

/// Tasks of methods without a state machine that threads run, as these say themselves.
void PendingWorkReader::find_dispatched(std::span<const WaitingThread> threads, std::vector<Address>& roots) {
  AsyncDispatchers dispatchers(objects_);
  for (const WaitingThread& at : threads) {
    if (at.thread == nullptr) continue;
    const auto tasks = dispatchers.of(*at.thread);
    if (tasks.empty()) continue;
    const auto methods = dispatched_methods(at);
    for (std::size_t i = 0; i < tasks.size(); i++) {
      const std::string_view method = methods.size() == tasks.size() ? methods[i] : std::string_view();
      machines_.runtime_async().set_running(tasks[i].task, {at.thread->os_id, tasks[i].next, std::string(method)});
      roots.push_back(tasks[i].task);
    }
  }
}

void PendingWorkReader::find_requests(std::span<const WaitingThread> threads) {
  for (const WaitingThread& thread : threads) requests_.look_at(thread);
  for (std::size_t i = 0; i < found_.chains.size(); i++)
    requests_.look_at(found_.chains[i], static_cast<std::uint32_t>(i + 1));
  found_.requests = requests_.take();
  found_.has_more_requests = requests_.has_more();
}

/// A method that has gone on since the chain was read has variables of another moment: it is left out.
void PendingWorkReader::read_values() {
  Values values(objects_, names_, {true, true});
  std::size_t left = kMostValues;
  for (AsyncChain& chain : found_.chains) {
    std::size_t nth = 0;  // of those of one task
    for (std::size_t i = 0; i < chain.steps.size(); i++) {
      AsyncStep& step = chain.steps[i];
      nth = i > 0 && chain.steps[i - 1].box == step.box ? nth + 1 : 0;
      const auto machine = machines_.machine_of(step.box);
      if (!machine) {
        const auto of_task = machines_.runtime_async().methods_of(step.box);
        if (nth >= of_task.methods.size() || of_task.methods[nth].state != step.state) continue;
        step.values =
            suspended_values(objects_, delegates_, values, of_task.methods[nth], std::min(left, kMostOfMethod));
        left -= step.values.size();
        continue;
      }
      auto found = async_values(objects_, values, *machine, std::min(left, kMostOfMethod));
      if (machines_.state_of(*machine) != step.state) continue;
      left -= found.size();
      step.values = std::move(found);
    }
  }
}

/// A promise does not name whom it waits for (Task.Run of an async method, Task.WhenAll); where it lies on the way up
/// from a timer, a queued item or what a thread runs, that is known all the same.
bool PendingWorkReader::is_open(const AsyncChain& chain) {
  return !chain.is_cut && (chain.end == AsyncEnd::promise || chain.end == AsyncEnd::all_tasks) &&
         chains_.joins_others(chain.awaited.address);
}

void PendingWorkReader::join(Address promise, Address child) {
  if (!chains_.joins_others(promise) || machines_.is_completed(child)) return;
  auto& children = joined_[promise];
  if (children.size() < kMostJoined && std::find(children.begin(), children.end(), child) == children.end())
    children.push_back(child);
}

/// Upwards from the tasks that threads run, and from the tasks and methods that threads which run async methods have on
/// their stacks: each names who goes on with it.
void PendingWorkReader::join_what_runs(std::span<const WaitingThread> threads,
                                       const std::unordered_map<Address, std::uint64_t>& running) {
  std::vector<Address> open;
  std::unordered_set<Address> seen;
  for (const auto& [task, thread] : running)
    if (seen.insert(task).second) open.push_back(task);
  for (const WaitingThread& thread : threads) {
    if (thread.thread == nullptr || thread.frames.empty() || !has_frame_of_async(thread)) continue;
    for (const Address word : words_of(objects_, thread)) {
      if (word < kLowestObject || word % 8 != 0 || thread.thread->stack.contains(word) || !seen.insert(word).second)
        continue;
      const Address type = objects_.header_is_clear(word) ? objects_.type_of(word) : 0;
      if (type != 0 && (machines_.is_task(word) || machines_.box_layout(type))) open.push_back(word);
    }
  }
  for (std::size_t i = 0; i < std::min(open.size(), kMostLinked); i++) {
    const auto next = machines_.continuations(open[i]);
    for (const Address above : next) {
      join(above, open[i]);
      if ((machines_.is_task(above) || machines_.machine_of(above)) && seen.insert(above).second) open.push_back(above);
    }
  }
}

/// A chain with all that is known below its end: of Task.WhenAll several.
std::vector<AsyncChain> PendingWorkReader::extended(AsyncChain chain) {
  constexpr unsigned kMostRounds = 64;
  std::vector<AsyncChain> done, open{std::move(chain)};
  for (unsigned round = 0; !open.empty(); round++) {
    AsyncChain upper = std::move(open.back());
    open.pop_back();
    const auto below = joined_.find(upper.awaited.address);
    const bool ends = !is_open(upper) || below == joined_.end() || round >= kMostRounds ||
                      upper.steps.size() >= AsyncChains::kMostSteps;
    if (ends) {
      done.push_back(std::move(upper));
      continue;
    }
    // The first is to come first.
    for (std::size_t i = below->second.size(); i-- > 0;) {
      AsyncChain lower = chains_.below(below->second[i]);
      lower.steps.insert(lower.steps.begin(), upper.steps.begin(), upper.steps.end());
      lower.waiter = upper.waiter;
      lower.gives_up |= upper.gives_up;
      if (upper.proof == Proof::likely) lower.proof = Proof::likely;
      chains_.close_joined(upper.steps.size(), lower);
      open.push_back(std::move(lower));
    }
  }
  return done;
}

void PendingWorkReader::extend() {
  std::vector<AsyncChain> all;
  for (AsyncChain& chain : found_.chains) {
    for (AsyncChain& one : extended(std::move(chain))) {
      if (all.size() == kMostChains) {
        found_.has_more_chains = true;
        break;
      }
      all.push_back(std::move(one));
    }
  }
  found_.chains = std::move(all);
}

/// The methods of a way from one of its places down to its beginning, and what that is.
void PendingWorkReader::append(const Way& way, std::size_t from, AsyncChain& chain) {
  bool is_cut = false;
  for (std::size_t i = from + 1; i-- > 1;) is_cut |= !machines_.add_steps(way[i], chain.steps);
  const AsyncChain end = chains_.below(way.front());
  chain.steps.insert(chain.steps.end(), end.steps.begin(), end.steps.end());
  chain.end = end.end;
  chain.awaited = end.awaited;
  chain.work = end.work;
  chain.due = end.due;
  chain.descriptor = end.descriptor;
  chain.proof = end.proof;
  chain.is_cut = end.is_cut || is_cut;
  chain.gives_up = end.gives_up;
  chain.runner = end.runner;
}

void PendingWorkReader::add_unwaited(const Way& way) {
  AsyncChain chain;
  append(way, way.size() - 1, chain);
  if (chain.steps.empty()) return;
  if (!told_.insert(chain.steps.back().box).second) return;
  if (found_.chains.size() == kMostChains) {
    found_.has_more_chains = true;
    return;
  }
  found_.chains.push_back(std::move(chain));
}

bool PendingWorkReader::is_queued(const AsyncChain& chain) {
  if (!chain.steps.empty() && queued_.contains(chain.steps.back().box)) return true;
  if (chain.end == AsyncEnd::delay) {
    // A worker runs what is due of a queue of timers.
    const Address timer = objects_.reference(chain.awaited.address, bcl::DelayPromise::kTimer).value_or(0);
    const Address queue = objects_.reference(timer, bcl::Timer::kQueue).value_or(0);
    return chain.due && chain.due->count() <= 0 && queued_.contains(queue);
  }
  return chain.awaited.address != 0 && chain.end != AsyncEnd::completed && queued_.contains(chain.awaited.address);
}

/// The synchronization context of a thread is where the rest of methods goes that it called.
void PendingWorkReader::find_contexts(std::span<const WaitingThread> threads) {
  for (AsyncChain& chain : found_.chains) {
    if (chain.waiter == 0) continue;
    const auto is_it = [&](const WaitingThread& t) { return t.thread != nullptr && t.thread->os_id == chain.waiter; };
    const auto at = std::find_if(threads.begin(), threads.end(), is_it);
    if (at == threads.end() || at->thread->thread_object_handle == 0) continue;
    const Address object = objects_.read<std::uint64_t>(at->thread->thread_object_handle).value_or(0);
    const Address context = objects_.reference(object, bcl::Thread::kContext).value_or(0);
    if (context != 0 && objects_.is_a(context, bcl::kSynchronizationContext))
      chain.context = objects_.type_name(context);
  }
}

/// The task scheduler of the program's own that a task was given to; 0: none.
Address PendingWorkReader::scheduler_of(Address task) {
  const Address scheduler = objects_.reference(task, bcl::Task::kScheduler).value_or(0);
  if (scheduler == 0 || !objects_.is_a(scheduler, bcl::kScheduler)) return 0;
  return objects_.type_name(scheduler) == bcl::kPoolScheduler ? 0 : scheduler;
}

/// Whether a chain ends in a task of the scheduler that nobody has begun, or in a method that can go on and was called
/// in a task of it: its rest is another task of it.
bool PendingWorkReader::is_left_to(Address scheduler, const AsyncChain& chain) {
  if (chain.runner != 0 || chain.is_queued || chain.proof == Proof::likely) return false;
  if (chain.end == AsyncEnd::completed || chain.end == AsyncEnd::yielded) return !chain.steps.empty();
  if (chain.end != AsyncEnd::work || scheduler_of(chain.awaited.address) != scheduler) return false;
  const auto flags = objects_.value<std::uint32_t>(chain.awaited.address, bcl::Task::kFlags);
  return flags && (*flags & kInvoked) == 0;
}

/// A thread that runs a task of a scheduler of the program's own waits for what that scheduler is to run. Another
/// thread that runs tasks of it, and does not wait so, may get to it.
void PendingWorkReader::find_schedulers(const std::unordered_map<Address, std::uint64_t>& innermost) {
  std::unordered_map<std::uint64_t, Address> by_thread;
  for (const auto& [task, tid] : innermost)
    if (const Address scheduler = scheduler_of(task); scheduler != 0) by_thread.emplace(tid, scheduler);
  std::unordered_map<std::uint64_t, std::vector<AsyncChain*>> left;
  for (AsyncChain& chain : found_.chains)
    if (const auto at = by_thread.find(chain.waiter); at != by_thread.end() && is_left_to(at->second, chain))
      left[chain.waiter].push_back(&chain);
  std::unordered_set<Address> at_work;
  for (const auto& [tid, scheduler] : by_thread)
    if (!left.contains(tid)) at_work.insert(scheduler);
  for (const auto& [tid, chains] : left)
    for (AsyncChain* chain : chains)
      if (const Address scheduler = by_thread.at(tid); !at_work.contains(scheduler))
        chain->scheduler = objects_.type_name(scheduler);
}

/// The task of methods without a state machine that the end of a chain is, if it may run; 0: none. The frame of who
/// lets them go on is not of one method: such a thread may have left this task behind it, so that it is likely alone.
Address PendingWorkReader::task_that_may_run(const AsyncChain& chain) {
  if (chains_.may_run(chain)) return chain.steps.back().box;
  return chain.end == AsyncEnd::running && !chain.is_queued ? chain.awaited.address : 0;
}

/// Whether a thread waits for a chain of the same end.
bool PendingWorkReader::waits_for_end(std::uint64_t tid, const AsyncChain& chain) const {
  return std::any_of(found_.chains.begin(), found_.chains.end(), [&](const AsyncChain& c) {
    return c.waiter == tid && !c.steps.empty() && !chain.steps.empty() && c.steps.back().box == chain.steps.back().box;
  });
}

/// Whether a thread that waits for a chain runs its end. The object that it waits for is on its stack in any case,
/// and the method that waits may be another call of the same one, or the one that it is written in: the box is wanted
/// in the frame of its own that has called the method, further out.
bool PendingWorkReader::goes_on_inside(std::span<const WaitingThread> threads, std::uint64_t tid,
                                       const AsyncChain& chain) {
  if (chain.steps.empty()) return false;
  const auto is_it = [&](const WaitingThread& t) { return t.thread != nullptr && t.thread->os_id == tid; };
  const auto at = std::find_if(threads.begin(), threads.end(), is_it);
  if (at == threads.end()) return false;
  const std::size_t callee = outermost_frame_of(*at, chain.steps.back().method);
  std::size_t end = callee + 1;
  if (end >= at->frames.size() || !is_frame_of_box(at->frames[end])) return false;
  while (end < at->frames.size() && (is_frame_of_box(at->frames[end]) || is_of_context(at->frames[end]))) end++;
  for (Address slot = at->frames[callee].cfa; slot + 8 <= at->frames[end - 1].cfa; slot += 8)
    if (objects_.read<Address>(slot) == chain.steps.back().box) return true;
  return false;
}

/// A method that runs has its box, or what is inside it, on the stack of the thread that runs it, below a frame of the
/// method.
void PendingWorkReader::find_runners(std::span<const WaitingThread> threads) {
  std::unordered_map<Address, std::vector<AsyncChain*>> wanted;
  for (AsyncChain& chain : found_.chains) {
    if (machines_.runtime_async().running(chain.awaited.address) != nullptr) continue;  // known by the thread
    if (const Address task = task_that_may_run(chain); task != 0) {
      chain.proof = Proof::likely;
      wanted[task].push_back(&chain);
      continue;
    }
    if (chain.end != AsyncEnd::running || chain.is_queued || chain.steps.empty()) continue;
    const Address box = chain.steps.back().box;
    wanted[box].push_back(&chain);
    const auto machine = machines_.machine_of(box);
    if (!machine) continue;
    wanted[machine->address].push_back(&chain);
    wanted[machine->address - objects_.memory().pointer_size()].push_back(&chain);
  }
  if (wanted.empty()) return;
  std::unordered_map<AsyncChain*, std::unordered_set<std::uint64_t>> by_chain;
  for (const WaitingThread& thread : threads) {
    if (thread.thread == nullptr || thread.frames.empty()) continue;
    for (const Address word : words_of(objects_, thread)) {
      const auto it = wanted.find(word);
      if (it == wanted.end()) continue;
      for (AsyncChain* chain : it->second)
        if (task_that_may_run(*chain) != 0 ? chain->waiter != thread.thread->os_id && has_frame_of_dispatch(thread)
                                           : has_frame_of(thread, chain->steps.back().method))
          by_chain[chain].insert(thread.thread->os_id);
    }
  }
  for (auto& [chain, ids] : by_chain) {
    std::erase_if(ids, [&, &chain = chain](std::uint64_t tid) {
      return waits_for_end(tid, *chain) && !goes_on_inside(threads, tid, *chain);
    });
    if (ids.size() != 1) continue;
    chain->runner = static_cast<std::uint32_t>(*ids.begin());
    const Address task = task_that_may_run(*chain);
    if (task == 0) continue;
    chain->end = AsyncEnd::running;
    chain->awaited = {task, objects_.type_name(task), {}};
  }
}

}  // namespace mixstack::dotnet::objects
