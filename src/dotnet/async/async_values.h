// Parameters and locals of async methods that have not ended: fields of their state machines.
#pragma once

#include <string_view>
#include <vector>

#include "dotnet/async/state_machines.h"
#include "dotnet/heap/values.h"

namespace mixstack::dotnet::objects {

/// The variable of the source that a field of a state machine stands for: `order` of `order`, `name` of `<name>5__2`,
/// `this` of `<>4__this`. Empty: the compiler's own.
/// Source: Roslyn's GeneratedNames (HoistedLocalField, ThisProxyFieldName).
[[nodiscard]] std::string_view variable_of_field(std::string_view field);

/// Values of at most `most` variables of a suspended method. Those that the compiler has put into an object that
/// lambdas share are among them.
[[nodiscard]] std::vector<ProgramValue> async_values(ManagedObjects& objects, Values& values,
                                                     const StructPlace& machine, std::size_t most);

}  // namespace mixstack::dotnet::objects
