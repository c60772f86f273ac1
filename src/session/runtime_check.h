// Whether mixstack knows the runtimes of a process, without a stop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/diagnosis.h"

namespace mixstack::session {

/// One runtime of a process.
struct RuntimeCheck {
  std::string name;                 ///< "CoreCLR 10.0.12"; "CoreCLR" where its version is not known
  std::vector<Diagnosis> refusals;  ///< what of it is of a version that mixstack does not know
};

/// Reads the descriptors of the process's runtimes; empty where there are none, or it may not be looked into.
[[nodiscard]] std::vector<RuntimeCheck> check_runtimes(std::uint32_t pid);

}  // namespace mixstack::session
