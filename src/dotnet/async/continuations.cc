#include "dotnet/async/continuations.h"

#include <algorithm>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/code/method_check.h"

namespace mixstack::dotnet::objects {
bool Continuations::is_continuation(Address object) {
  return object != 0 && object % 8 == 0 && objects_.header_is_clear(object) &&
         objects_.types().is_core(objects_.type_of(object), bcl::Continuation::kType);
}

bool Continuations::is_head(Address object, std::string_view type) {
  return objects_.types().is_core(objects_.type_of(object), type);
}

std::optional<Continuation> Continuations::at(Address object) {
  if (!is_continuation(object)) return std::nullopt;
  const RuntimeMemory& memory = objects_.memory();
  const Layouts& l = memory.layouts();
  const auto next = memory.pointer(object, l.continuation_object.next);
  const auto info = memory.pointer(object, l.continuation_object.resume_info);
  const auto state = memory.value<std::int32_t>(object, l.continuation_object.state);
  if (!next || !info || !state) return std::nullopt;
  Continuation c{object, *next, 0, *state, false, 0};
  // A core may lack it where the code is precompiled.
  if (*info != 0) c.ip = memory.pointer(*info, l.async_resume_info.diagnostic_ip).value_or(0);
  // Types that are made at run time are no rows of the metadata.
  const TypeFacts* type = objects_.types().at(objects_.type_of(object));
  c.has_method = c.ip != 0 || (type != nullptr && type->type_def == 0);
  if (c.has_method) return c;
  if (is_head(object, bcl::AwaitsTask::kType))
    c.awaited = objects_.reference(object, bcl::AwaitsTask::kTask).value_or(0);
  if (is_head(object, bcl::AwaitsSource::kType))
    c.awaited = objects_.reference(object, bcl::AwaitsSource::kSource).value_or(0);
  return c;
}

Address Continuations::task_of_head(Address head) {
  if (!is_continuation(head) || !is_head(head, bcl::AwaitsTask::kType)) return 0;
  if (objects_.reference(head, bcl::AwaitsTask::kTask).value_or(0) == 0) return 0;  // kept to be used again
  const Address task = objects_.reference(head, bcl::AwaitsTask::kOwnTask).value_or(0);
  return task != 0 && is_task_type(objects_.type_of(task)) && objects_.reference(task, bcl::Task::kState) == head ? task
                                                                                                                  : 0;
}

std::vector<Address> Continuations::held_by(const Continuation& continuation, std::size_t most) {
  if (!continuation.has_method)
    return continuation.awaited == 0 ? std::vector<Address>{} : std::vector<Address>{continuation.awaited};
  std::vector<Address> held;
  const std::uint32_t begin = objects_.memory().layouts().continuation_object.size;
  const std::vector<Address> words = objects_.words_in(continuation.address, most);
  for (std::size_t i = begin < 8 ? 0 : (begin - 8) / 8; i < words.size(); i++) {
    const Address object = words[i];
    if (object == 0 || object % 8 != 0 || !objects_.header_is_clear(object)) continue;
    if (std::find(held.begin(), held.end(), object) != held.end()) continue;
    if (objects_.type_of(object) != 0 && !is_continuation(object)) held.push_back(object);
  }
  return held;
}

const MethodOfCode& Continuations::method_at(Address ip) {
  if (const auto it = known_.find(ip); it != known_.end()) return it->second;
  if (ip == 0 || known_.size() == kMostMethods) return none_;
  return known_.emplace(ip, read(ip)).first->second;
}

MethodOfCode Continuations::read(Address ip) {
  MethodOfCode method;
  const CodeInfo& code = delegates_.code().find(CodeAddress::exact(ip));
  if (!code.is_managed() || code.method_desc == 0) return method;
  method.method_desc = code.method_desc;
  method.method_start = code.method_start;
  const auto described = delegates_.names().describe(method.method_desc);
  if (!described || (*described)->is_il_stub) return {};
  method.name = (*described)->name;
  method.is_machinery = is_async_thunk(objects_.memory(), method.method_desc) ||
                        ((*described)->module == bcl::kCoreLib && method.name.starts_with(bcl::kHelpers));
  return method;
}

}  // namespace mixstack::dotnet::objects
