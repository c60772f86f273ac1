// The parts of NativeAOT's collector that its descriptor does not tell.
#pragma once

#include <optional>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::objects {

/// Whether somebody holds the lock of the runtime's list of threads: a collection does from before it stops the first
/// thread until it lets the last one run, and others do for moments. Nothing: the lock is not as is known.
[[nodiscard]] std::optional<bool> are_threads_locked(const RuntimeMemory& memory);

/// Where the collector counts its collections of one generation and above; 64 bits.
struct AotCounts {
  Address young = 0, old = 0;  ///< of generation 0, and of generation 1
};
/// Looks for the collector's table of generations (`dynamic_data` of coreclr/gc/gcpriv.h), which nothing points at: in
/// `data`, the data of the image, or in a server's first heap. Nothing: there is no place like it, or more than one.
[[nodiscard]] std::optional<AotCounts> find_aot_counts(const RuntimeMemory& memory, const Collector& collector,
                                                       const AddressRange& data);

}  // namespace mixstack::dotnet::objects
