#include "dotnet/async/runtime_async.h"

#include <algorithm>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/tasks.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::int32_t kMostAwaits = 1 << 16;

}  // namespace

bool RuntimeAsync::is_type(Address type) {
  if (type == 0) return false;
  const auto [it, is_new] = types_.try_emplace(type);
  if (is_new)
    it->second = by_info() ? continuations_.is_task_type(type)
                           : objects_.types().is_core(type, bcl::kThunkTask) ||
                                 objects_.types().is_core(type, bcl::kThunkTaskOfValue);
  return it->second;
}

bool RuntimeAsync::is_task(Address object) {
  if (!is_type(objects_.type_of(object))) return false;
  const Address action = objects_.reference(object, bcl::Task::kAction).value_or(0);
  return action != 0 && delegates_.is_delegate(action) && delegates_.target(action) == object;
}

bool RuntimeAsync::is_continuation(Address object) {
  return object != 0 && object % 8 == 0 && objects_.header_is_clear(object) &&
         objects_.types().is_core(objects_.type_of(object), bcl::Continuation::kType);
}

Address RuntimeAsync::innermost(Address task) {
  const Address state = objects_.reference(task, bcl::Task::kState).value_or(0);
  return is_continuation(state) ? state : 0;
}

Address RuntimeAsync::resume_of(Address continuation) {
  return objects_.value<std::uint64_t>(continuation, bcl::Continuation::kResume).value_or(0);
}

std::optional<RuntimeAsync::Read> RuntimeAsync::read(Address continuation) {
  if (by_info()) return read_by_info(continuation);
  if (!is_continuation(continuation)) return std::nullopt;
  Read found;
  const Address resume = resume_of(continuation);
  found.is_last = resume == 0;  // it only takes the result
  if (found.is_last) return found;
  const ResumedMethod& method = stubs_.method_at(resume);
  const auto state = objects_.value<std::int32_t>(continuation, bcl::Continuation::kState);
  if (method.name.empty() || !state || *state < 0 || *state > kMostAwaits) return std::nullopt;
  found.method = {resume, *state, continuation};
  found.is_shown = !method.is_machinery;
  found.next = objects_.reference(continuation, bcl::Continuation::kNext).value_or(0);
  return found;
}

/// The one that stands for what is awaited has no method.
std::optional<RuntimeAsync::Read> RuntimeAsync::read_by_info(Address continuation) {
  const auto c = continuations_.at(continuation);
  if (!c) return std::nullopt;
  Read found;
  found.next = c->next;
  if (!c->has_method) return found;
  const MethodOfCode& method = continuations_.method_at(c->ip);
  found.method = {c->ip, c->state, continuation};
  found.is_unknown = method.name.empty() || c->state < 0 || c->state > kMostAwaits;
  found.is_shown = !found.is_unknown && !method.is_machinery;
  return found;
}

RuntimeAsync::Methods RuntimeAsync::methods_of(Address task) {
  const Address begin = innermost(task);
  if (begin != 0) return methods_from(begin);
  const RunningTask* running = this->running(task);
  return running == nullptr ? Methods{} : methods_from(running->next);
}

RuntimeAsync::Methods RuntimeAsync::methods_from(Address continuation) {
  Methods found;
  std::vector<Address> seen;
  for (Address at = continuation; at != 0;) {
    const bool is_new = std::find(seen.begin(), seen.end(), at) == seen.end();
    const auto one = is_new && seen.size() < kMostMethods ? read(at) : std::nullopt;
    found.is_cut |= !one || one->is_unknown;
    if (!one || one->is_last) break;
    seen.push_back(at);
    if (one->is_shown) found.methods.push_back(one->method);
    at = one->next;
  }
  std::reverse(found.methods.begin(), found.methods.end());
  return found;
}

const std::string& RuntimeAsync::method_of(const SuspendedMethod& m) {
  return by_info() ? continuations_.method_at(m.resume).name : stubs_.method_at(m.resume).name;
}

const RunningTask* RuntimeAsync::running(Address task) const {
  const auto it = running_.find(task);
  return it == running_.end() ? nullptr : &it->second;
}

Address RuntimeAsync::awaited_by(Address task) {
  if (!by_info()) return 0;
  const auto c = continuations_.at(innermost(task));
  return c ? c->awaited : 0;
}

std::vector<Address> RuntimeAsync::held_by(Address task) {
  if (by_info()) {
    const auto c = continuations_.at(innermost(task));
    return c ? continuations_.held_by(*c, kMostHeld) : std::vector<Address>{};
  }
  std::vector<Address> held;
  const Address data = objects_.reference(innermost(task), bcl::Continuation::kData).value_or(0);
  for (const Address object : objects_.references_in(data, kMostHeld)) {
    if (object == 0 || object == task || object % 8 != 0 || !objects_.header_is_clear(object)) continue;
    if (std::find(held.begin(), held.end(), object) != held.end()) continue;
    if (objects_.type_of(object) != 0 && !is_continuation(object)) held.push_back(object);
  }
  return held;
}

bool RuntimeAsync::only_awaits(Address task) {
  const Address begin = innermost(task);
  if (!by_info()) return stubs_.method_at(resume_of(begin)).is_machinery;
  const auto c = continuations_.at(begin);
  return c && (!c->has_method || continuations_.method_at(c->ip).is_machinery);
}

}  // namespace mixstack::dotnet::objects
