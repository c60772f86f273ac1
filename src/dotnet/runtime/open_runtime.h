// The choice of the reader for a runtime.
#pragma once

#include <memory>

#include "dotnet/runtime/managed_runtime.h"
#include "engine/images/debug_file.h"
#include "mixstack/runtime_options.h"

namespace mixstack::dotnet {

/// By its contracts, or by its DAC where that is wanted or the contracts cannot walk it. All borrowed as long as it
/// lives; `live` is the target's memory through a cache.
[[nodiscard]] std::unique_ptr<ManagedRuntime> open_runtime(std::shared_ptr<const KnownRuntime> known,
                                                           const Target& target, const MemoryReader& live,
                                                           const images::PathOpener& opener,
                                                           const images::ModuleMap& modules,
                                                           const RuntimeOptions& options,
                                                           const names::PdbFetcher& fetch_pdb = nullptr);

}  // namespace mixstack::dotnet
