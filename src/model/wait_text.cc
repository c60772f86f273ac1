#include "mixstack/waits.h"

namespace mixstack {

std::string_view to_string(Proof proof) {
  switch (proof) {
    case Proof::recorded:
      return "recorded";
    case Proof::proved:
      return "proved";
    case Proof::likely:
      break;
  }
  return "likely";
}

std::string_view to_string(WaitKind kind) {
  switch (kind) {
    case WaitKind::none:
      break;
    case WaitKind::monitor:
      return "monitor";
    case WaitKind::monitor_wait:
      return "monitor_wait";
    case WaitKind::lock:
      return "lock";
    case WaitKind::condition:
      return "condition";
    case WaitKind::semaphore_slim:
      return "semaphore_slim";
    case WaitKind::reset_event_slim:
      return "reset_event_slim";
    case WaitKind::task:
      return "task";
    case WaitKind::all_tasks:
      return "all_tasks";
    case WaitKind::any_task:
      return "any_task";
    case WaitKind::countdown:
      return "countdown";
    case WaitKind::barrier:
      return "barrier";
    case WaitKind::blocking_collection:
      return "blocking_collection";
    case WaitKind::reader_writer_lock:
      return "reader_writer_lock";
    case WaitKind::wait_handle:
      return "wait_handle";
    case WaitKind::wait_handles:
      return "wait_handles";
    case WaitKind::thread_join:
      return "thread_join";
    case WaitKind::child_process:
      return "child_process";
    case WaitKind::class_constructor:
      return "class_constructor";
    case WaitKind::callback:
      return "callback";
    case WaitKind::finalizers:
      return "finalizers";
    case WaitKind::native_mutex:
      return "native_mutex";
    case WaitKind::native_rwlock:
      return "native_rwlock";
    case WaitKind::native_condition:
      return "native_condition";
    case WaitKind::file:
      return "file";
    case WaitKind::socket:
      return "socket";
    case WaitKind::pipe:
      return "pipe";
    case WaitKind::poll:
      return "poll";
    case WaitKind::sleep:
      return "sleep";
  }
  return "none";
}

}  // namespace mixstack
