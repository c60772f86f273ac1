#include "dotnet/objects/runtime_async.h"

#include <algorithm>

namespace mixstack::dotnet::objects {
namespace {

// System.Private.CoreLib, src/System/Runtime/CompilerServices/AsyncHelpers.CoreCLR.cs.
constexpr std::string_view kTaskOfValue = "System.Runtime.CompilerServices.AsyncHelpers+ThunkTask`1";
constexpr std::string_view kContinuation = "System.Runtime.CompilerServices.Continuation";

constexpr std::int32_t kMostAwaits = 1 << 16;

}  // namespace

bool RuntimeAsync::is_type(Address type) {
  if (type == 0) return false;
  const auto [it, is_new] = types_.try_emplace(type);
  if (is_new) it->second = objects_.types().is_core(type, kTask) || objects_.types().is_core(type, kTaskOfValue);
  return it->second;
}

bool RuntimeAsync::is_task(Address object) {
  if (!is_type(objects_.type_of(object))) return false;
  const Address action = objects_.reference(object, "m_action").value_or(0);
  return action != 0 && delegates_.is_delegate(action) && delegates_.target(action) == object;
}

bool RuntimeAsync::is_continuation(Address object) {
  return object != 0 && object % 8 == 0 && objects_.header_is_clear(object) &&
         objects_.types().is_core(objects_.type_of(object), kContinuation);
}

Address RuntimeAsync::innermost(Address task) {
  const Address state = objects_.reference(task, "m_stateObject").value_or(0);
  return is_continuation(state) ? state : 0;
}

Address RuntimeAsync::resume_of(Address continuation) {
  return objects_.value<std::uint64_t>(continuation, "Resume").value_or(0);
}

RuntimeAsync::Methods RuntimeAsync::methods_of(Address task) {
  Methods found;
  std::vector<Address> seen;
  for (Address at = innermost(task); at != 0; at = objects_.reference(at, "Next").value_or(0)) {
    const bool is_one = is_continuation(at) && std::find(seen.begin(), seen.end(), at) == seen.end();
    if (!is_one || seen.size() == kMostMethods) {
      found.is_cut = true;
      break;
    }
    seen.push_back(at);
    const Address resume = resume_of(at);
    if (resume == 0) break;  // the last one only takes the result
    const ResumedMethod& method = stubs_.method_at(resume);
    const auto state = objects_.value<std::int32_t>(at, "State");
    if (method.name.empty() || !state || *state < 0 || *state > kMostAwaits) {
      found.is_cut = true;
      break;
    }
    if (!method.is_machinery) found.methods.push_back({resume, *state});
  }
  std::reverse(found.methods.begin(), found.methods.end());
  return found;
}

std::vector<Address> RuntimeAsync::held_by(Address task) {
  std::vector<Address> held;
  const Address data = objects_.reference(innermost(task), "GCData").value_or(0);
  for (const Address object : objects_.references_in(data, kMostHeld)) {
    if (object == 0 || object == task || object % 8 != 0 || !objects_.header_is_clear(object)) continue;
    if (std::find(held.begin(), held.end(), object) != held.end()) continue;
    if (objects_.type_of(object) != 0 && !is_continuation(object)) held.push_back(object);
  }
  return held;
}

bool RuntimeAsync::only_awaits(Address task) { return stubs_.method_at(resume_of(innermost(task))).is_machinery; }

}  // namespace mixstack::dotnet::objects
