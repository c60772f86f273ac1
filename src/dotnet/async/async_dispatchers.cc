#include "dotnet/async/async_dispatchers.h"

#include <algorithm>
#include <cstring>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::objects {
/// Only what was copied counts where there is a copy: the thread has gone on since.
std::optional<Address> AsyncDispatchers::reference(Address info, std::string_view field, const MemorySlice* copied) {
  const auto at = objects_.place(StructPlace{info, type_}, field);
  if (!at) return std::nullopt;
  if (copied == nullptr) return objects_.read<Address>(*at);
  const AddressRange range = copied->range();
  Address word = 0;
  if (*at < range.begin || *at > range.end || range.end - *at < sizeof(word)) return std::nullopt;
  std::memcpy(&word, copied->bytes.data() + (*at - range.begin), sizeof(word));
  return word;
}

std::vector<DispatchedTask> AsyncDispatchers::of(const ManagedThread& thread, const MemorySlice* copied) {
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
    const auto next = reference(info, bcl::Dispatcher::kNextContinuation, copied);
    const auto task = reference(info, bcl::Dispatcher::kTask, copied);
    if (!next || !task || !objects_.types().is_core(objects_.type_of(*task), bcl::kRuntimeAsyncTask)) break;
    found.push_back({*task, *next});
    inner = info;
    info = reference(info, bcl::Dispatcher::kNext, copied).value_or(0);
  }
  return found;
}

bool dispatches_continuations(std::string_view method) {
  return method.starts_with(bcl::kTaskMethods) && method.find(bcl::kDispatchMethod) != std::string_view::npos;
}

}  // namespace mixstack::dotnet::objects
