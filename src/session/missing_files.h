// The packages that have missing files.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/diagnosis.h"

namespace mixstack::session {

/// Adds to what is said of files (subject: the path) that came with one of these runtimes the package that has them.
void name_packages(std::vector<Diagnosis>& diagnoses,
                   std::span<const std::shared_ptr<const dotnet::KnownRuntime>> runtimes);

}  // namespace mixstack::session
