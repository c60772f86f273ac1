#include "base/words/wait_kinds.h"

#include <array>

namespace mixstack {
namespace {

using Kind = WaitKind;
using Role = OwnerRole;

// To add a kind: a name in WaitKind, a row here, its name in the schemas and in docs/inside/why.md, and code that
// reports it.
constexpr WaitKindFacts kKinds[] = {
    {.kind = Kind::monitor, .name = "monitor", .phrase = "the monitor of"},
    {.kind = Kind::monitor_wait, .name = "monitor_wait", .phrase = "a pulse of"},
    {.kind = Kind::lock, .name = "lock", .phrase = "the lock"},
    {.kind = Kind::condition, .name = "condition", .phrase = "a condition of the lock"},
    {.kind = Kind::semaphore_slim, .name = "semaphore_slim", .phrase = "the semaphore"},
    {.kind = Kind::reset_event_slim, .name = "reset_event_slim", .phrase = "the event"},
    {.kind = Kind::task,
     .name = "task",
     .phrase = "the task",
     .role = Role::runner,
     .is_of_tasks = true,
     .is_for_an_end = true},
    {.kind = Kind::all_tasks,
     .name = "all_tasks",
     .phrase = "all of several tasks, one of them",
     .role = Role::runner,
     .is_of_tasks = true,
     .is_for_an_end = true},
    {.kind = Kind::any_task,
     .name = "any_task",
     .phrase = "any of several tasks, one of them",
     .is_of_tasks = true,
     .is_for_any = true},
    {.kind = Kind::countdown, .name = "countdown", .phrase = "the countdown"},
    {.kind = Kind::barrier, .name = "barrier", .phrase = "the others at the barrier"},
    {.kind = Kind::blocking_collection, .name = "blocking_collection", .phrase = "the collection"},
    {.kind = Kind::reader_writer_lock, .name = "reader_writer_lock", .phrase = "the reader-writer lock"},
    {.kind = Kind::wait_handle, .name = "wait_handle", .phrase = "the handle"},
    {.kind = Kind::wait_handles, .name = "wait_handles", .phrase = "several handles, one of them", .is_for_any = true},
    {.kind = Kind::thread_join,
     .name = "thread_join",
     .phrase = "the end of a thread,",
     .role = Role::thread,
     .is_for_an_end = true},
    {.kind = Kind::child_process, .name = "child_process", .phrase = "the end of a process,", .is_told_by_call = true},
    {.kind = Kind::class_constructor,
     .name = "class_constructor",
     .phrase = "the static constructor of",
     .role = Role::runner,
     .object_is_a_place = false},
    {.kind = Kind::callback,
     .name = "callback",
     .phrase = "the end of a callback of",
     .role = Role::runner,
     .is_for_an_end = true},
    {.kind = Kind::finalizers,
     .name = "finalizers",
     .phrase = "all finalizers",
     .role = Role::runner,
     .is_for_an_end = true},
    {.kind = Kind::native_mutex, .name = "native_mutex", .phrase = "a native mutex"},
    {.kind = Kind::native_rwlock, .name = "native_rwlock", .phrase = "a native read-write lock"},
    {.kind = Kind::native_condition, .name = "native_condition", .phrase = "a native condition"},
    {.kind = Kind::file, .name = "file", .phrase = "a file,", .is_told_by_call = true},
    {.kind = Kind::socket,
     .name = "socket",
     .phrase = "a socket,",
     .is_told_by_call = true,
     .object_is_a_place = false},
    {.kind = Kind::pipe, .name = "pipe", .phrase = "a pipe,", .is_told_by_call = true},
    {.kind = Kind::poll, .name = "poll", .phrase = "any of several files,", .is_told_by_call = true},
    {.kind = Kind::sleep, .name = "sleep", .phrase = "time to pass", .is_told_by_call = true},
};
constexpr WaitKindFacts kNone{.kind = Kind::none, .name = "none", .phrase = ""};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kKinds); i++)
    if (static_cast<std::size_t>(kKinds[i].kind) != i + 1) return false;
  return true;
}
static_assert(is_in_order() && kKinds[std::size(kKinds) - 1].kind == Kind::sleep,
              "a row for each kind, in their order");

}  // namespace

std::span<const WaitKindFacts> wait_kinds() { return kKinds; }

const WaitKindFacts& facts_of(WaitKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return at == 0 || at > std::size(kKinds) ? kNone : kKinds[at - 1];
}

std::string_view to_string(WaitKind kind) { return facts_of(kind).name; }

}  // namespace mixstack
