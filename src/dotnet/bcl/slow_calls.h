// Methods below which the runtime does work that the program asked for.
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// Which methods look for the handler of an exception?
inline constexpr NameStart kExceptionDispatch = "System.Runtime.EH.";
/// Which methods ask for collections?
inline constexpr NameStart kCollects = "System.GC.";

}  // namespace mixstack::dotnet::bcl
