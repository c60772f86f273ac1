// How does a process begin and end?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// Code that ends it at once, and has the message in its frame.
inline constexpr NameStart kFailFast = "System.Environment.FailFast(";

/// Code that ends it in good order.
inline constexpr std::array<NameStart, 3> kExits{
    "System.Environment.Exit(",
    "System.Environment._Exit(",
    "System.AppContext.OnProcessExit(",
};

/// Code that the runtime calls before Main.
inline constexpr NameStart kStartupHooks = "System.StartupHookProvider.";
inline constexpr NameStart kSetup = "System.AppContext.Setup(";

/// What does a runtime that dies have as its last exception?
inline constexpr TypeName kStackOverflow = "System.StackOverflowException";
inline constexpr TypeName kExecutionEngine = "System.ExecutionEngineException";

}  // namespace mixstack::dotnet::bcl
