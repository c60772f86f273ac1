// Waits for tasks: for the end of one, of all, of the first of several.
//
// In: the event that a thread waits with, and the objects on its stack. Out: the tasks that set it. A task is believed
// where it goes on with the event, or with a promise that names it. Bounds: 4096 tasks of one wait are kept, the others
// up to 16384 are counted; 4096 continuations of one task.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/waits/thread_waits.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kMostContinuations = 1 << 12;
constexpr std::size_t kMostCounted = 1 << 14;

}  // namespace

bool ThreadWaits::continues_with(Address task, Address object) {
  const auto continuation = objects_.reference(task, bcl::Task::kContinuation);
  if (!continuation || *continuation == 0) return false;
  if (*continuation == object) return true;
  const auto items = objects_.items_of_list(*continuation, kMostContinuations);
  return std::find(items.begin(), items.end(), object) != items.end();
}

/// The tasks of a List or an array; nothing where the first of its objects is none.
std::vector<Address> ThreadWaits::tasks_in(Address collection) {
  const TypeFacts* type = objects_.types().at(objects_.type_of(collection));
  if (type == nullptr) return {};
  std::vector<Address> members;
  if (type->name == bcl::List::kType)
    members = objects_.items_of_list(collection, kMostCounted);
  else if (type->is_array)
    members = objects_.references_in(collection, kMostCounted);
  const auto first = std::find_if(members.begin(), members.end(), [](Address m) { return m != 0; });
  if (first == members.end() || !objects_.is_a(*first, bcl::Task::kType)) return {};
  std::unordered_set<Address> seen;
  std::erase_if(members, [&](Address m) { return !seen.insert(m).second || !objects_.is_a(m, bcl::Task::kType); });
  return members;
}

void ThreadWaits::set_tasks(std::span<const Address> tasks, WaitKind kind, ThreadWait& wait) {
  wait.kind = kind;
  wait.object = object(tasks.front());
  wait.others.clear();
  const std::size_t kept = std::min(tasks.size(), kMostTasks);
  wait.others.reserve(kept);
  std::unordered_map<Address, std::string> names;  // by type: most are of one
  for (const Address task : tasks.first(kept)) {
    const auto [name, is_new] = names.try_emplace(objects_.type_of(task));
    if (is_new) name->second = object(task).type;
    wait.others.push_back({task, name->second, {}});
  }
  wait.more_others = static_cast<std::uint32_t>(tasks.size() - kept);
}

/// Task.WaitAll: the event counts the tasks, each of which goes on with it.
bool ThreadWaits::all_of_event(Address event, const Candidates& found, ThreadWait& wait) {
  for (const Candidate& c : found) {
    std::vector<Address> open = tasks_in(c.address);
    std::erase_if(open, [&](Address task) { return !continues_with(task, event); });
    if (open.empty()) continue;
    set_tasks(open, WaitKind::all_tasks, wait);
    for (const Address task : open)
      if (const std::uint64_t runs = thread_that_runs(task); runs != 0)
        wait.owners.push_back(static_cast<std::uint32_t>(runs));
    return true;
  }
  return false;
}

/// Task.WaitAny, or a wait for Task.WhenAny: a promise that names the tasks which go on with it, and ends with the
/// first. Nobody of those who run them holds up the thread alone.
bool ThreadWaits::any_of_promise(Address promise, ThreadWait& wait) {
  const Address type = objects_.type_of(promise);
  std::vector<Address> open;
  if (objects_.types().is_core(type, bcl::AnyOfSeveral::kType)) {
    open = tasks_in(objects_.reference(promise, bcl::AnyOfSeveral::kTasks).value_or(0));
  } else if (objects_.types().is_core(type, bcl::AnyOfTwo::kType)) {
    for (const std::string_view field : {bcl::AnyOfTwo::kFirst, bcl::AnyOfTwo::kSecond})
      open.push_back(objects_.reference(promise, field).value_or(0));
  }
  std::erase_if(open,
                [&](Address task) { return !objects_.is_a(task, bcl::Task::kType) || !continues_with(task, promise); });
  if (open.empty()) return false;
  set_tasks(open, WaitKind::any_task, wait);
  wait.owners.clear();
  return true;
}

void ThreadWaits::describe_task(Address task, ThreadWait& wait) {
  if (any_of_promise(task, wait)) return;
  wait.object = object(task);
  if (const std::uint64_t runs = thread_that_runs(task); runs != 0)
    wait.owners.push_back(static_cast<std::uint32_t>(runs));
}

const std::unordered_map<Address, std::uint64_t>& ThreadWaits::running_tasks() {
  if (!has_running_tasks_) {
    has_running_tasks_ = true;
    const Address type = objects_.types().find(bcl::kCoreLib, bcl::Task::kType);
    for (const ManagedThread& t : threads_) {
      if (type == 0 || t.os_id == 0 || t.is_dead()) continue;
      const auto current = objects_.thread_static_reference(t.address, type, bcl::Task::kCurrent);
      if (current && *current != 0) running_tasks_.emplace(*current, t.os_id);
    }
  }
  return running_tasks_;
}

std::uint64_t ThreadWaits::thread_that_runs(Address task) {
  const auto& running = running_tasks();
  const auto it = running.find(task);
  return it == running.end() ? 0 : it->second;
}

}  // namespace mixstack::dotnet::objects
