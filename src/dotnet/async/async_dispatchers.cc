#include "dotnet/async/async_dispatchers.h"

#include <algorithm>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::objects {
std::vector<DispatchedTask> AsyncDispatchers::of(const ManagedThread& thread) {
  std::vector<DispatchedTask> found;
  if (objects_.memory().layouts().algorithms.suspended_methods != SuspendedMethods::resume_info) return found;
  if (thread.os_id == 0 || thread.is_dead()) return found;
  if (!has_type_) {
    has_type_ = true;
    type_ = objects_.types().find(bcl::kCoreLib, bcl::Dispatcher::kType);
  }
  if (type_ == 0) return found;
  const auto place = objects_.thread_static_place(thread.address, type_, bcl::Dispatcher::kCurrent);
  Address info = place ? objects_.read<Address>(*place).value_or(0) : 0;
  // Those further out lie further out on the stack.
  for (Address inner = 0; found.size() < kMostNested && info > inner && thread.stack.contains(info);) {
    const StructPlace at{info, type_};
    const auto next = objects_.reference(at, bcl::Dispatcher::kNextContinuation);
    const auto task = objects_.reference(at, bcl::Dispatcher::kTask);
    if (!next || !task || !objects_.types().is_core(objects_.type_of(*task), bcl::kRuntimeAsyncTask)) break;
    found.push_back({*task, *next});
    inner = info;
    info = objects_.reference(at, bcl::Dispatcher::kNext).value_or(0);
  }
  return found;
}

bool dispatches_continuations(std::string_view method) {
  return method.starts_with(bcl::kTaskMethods) && method.find(bcl::kDispatchMethod) != std::string_view::npos;
}

}  // namespace mixstack::dotnet::objects
