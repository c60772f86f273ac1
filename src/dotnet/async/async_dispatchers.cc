#include "dotnet/async/async_dispatchers.h"

#include <algorithm>
#include <cstring>

namespace mixstack::dotnet::objects {
namespace {

// System.Private.CoreLib, src/System/Runtime/CompilerServices/AsyncHelpers.CoreCLR.cs.
constexpr std::string_view kInfo = "System.Runtime.CompilerServices.AsyncDispatcherInfo";
constexpr std::string_view kTaskName = "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask<";
constexpr std::string_view kDispatch = ">.DispatchContinuations(";

}  // namespace

/// Of a sample only what was copied counts: the thread has gone on.
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
    type_ = objects_.types().find("System.Private.CoreLib", kInfo);
  }
  if (type_ == 0) return found;
  const auto place = objects_.thread_static_place(thread.address, type_, "t_current");
  Address info = place ? objects_.read<Address>(*place).value_or(0) : 0;
  // Those further out lie further out on the stack.
  for (Address inner = 0; found.size() < kMostNested && info > inner && thread.stack.contains(info);) {
    const auto next = reference(info, "NextContinuation", copied);
    const auto task = reference(info, "CurrentTask", copied);
    if (!next || !task || !objects_.types().is_core(objects_.type_of(*task), Continuations::kTask)) break;
    found.push_back({*task, *next});
    inner = info;
    info = reference(info, "Next", copied).value_or(0);
  }
  return found;
}

bool dispatches_continuations(std::string_view method) {
  return method.starts_with(kTaskName) && method.find(kDispatch) != std::string_view::npos;
}

}  // namespace mixstack::dotnet::objects
