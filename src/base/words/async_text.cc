#include "mixstack/async.h"

namespace mixstack {

std::string_view to_string(AsyncEnd end) {
  switch (end) {
    case AsyncEnd::unknown:
      break;
    case AsyncEnd::running:
      return "running";
    case AsyncEnd::yielded:
      return "yielded";
    case AsyncEnd::completed:
      return "completed";
    case AsyncEnd::delay:
      return "delay";
    case AsyncEnd::all_tasks:
      return "all_tasks";
    case AsyncEnd::any_task:
      return "any_task";
    case AsyncEnd::promise:
      return "promise";
    case AsyncEnd::semaphore:
      return "semaphore";
    case AsyncEnd::socket:
      return "socket";
    case AsyncEnd::work:
      return "work";
    case AsyncEnd::cycle:
      return "cycle";
    case AsyncEnd::source:
      return "source";
  }
  return "unknown";
}

}  // namespace mixstack
