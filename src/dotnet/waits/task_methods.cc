#include "dotnet/waits/task_methods.h"

#include <utility>
#include <vector>

#include "base/words/wait_kinds.h"

namespace mixstack::dotnet::objects {

std::string TaskMethods::of(const ThreadWait& wait) {
  if (!facts_of(wait.kind).is_of_tasks || wait.object.address == 0) return {};
  std::vector<AsyncStep> steps;
  (void)machines_.add_steps(wait.object.address, steps);
  return steps.empty() ? std::string() : std::move(steps.front().method);
}

}  // namespace mixstack::dotnet::objects
