// Whether this reader knows how a runtime's threads wait.
#pragma once

#include <string>

#include "dotnet/heap/managed_objects.h"

namespace mixstack::dotnet::objects {

/// Empty: it does. Else what it lacks, in words: types that a wait is told by have other fields than those that are
/// known. What is not loaded, no thread waits with.
[[nodiscard]] std::string why_waits_are_unknown(ManagedObjects& objects);

}  // namespace mixstack::dotnet::objects
