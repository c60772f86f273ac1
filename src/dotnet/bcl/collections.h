// Which types hold others for a program: collections, and what they are made of?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// The start of the names of collections, of whatever assembly.
inline constexpr NameStart kCollections = "System.Collections.";
/// Tables of attached values.
inline constexpr TypeStart kAttachedValues = "System.Runtime.CompilerServices.ConditionalWeakTable`2";

}  // namespace mixstack::dotnet::bcl
