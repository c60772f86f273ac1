// Whether this reader knows how a runtime's threads wait.
#pragma once

#include <string>

#include "dotnet/heap/managed_objects.h"

namespace mixstack::dotnet::objects {

/// Empty: they are known. Else the reason in words: types that waits are read from have other fields than we know.
/// Types that are not loaded do not count: no thread waits with them.
[[nodiscard]] std::string why_waits_are_unknown(ManagedObjects& objects);

}  // namespace mixstack::dotnet::objects
