// The threads of a runtime that is compiled into its program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dotnet/contracts/descriptor.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// The threads that NativeAOT lists in its ThreadStore, found by the contract that it exports for debuggers. The
/// contract does not describe managed ids, names and GC modes.
struct AotThreads {
  std::vector<std::uint32_t> os_ids;  ///< in the program's own pid namespace, each once; 0 is never among them
  /// Why the list is not whole: `contract_unsupported` with the version found, `field_unavailable` (or the runtime has
  /// not started yet), `mismatch`: no such contract, `limit_exceeded`: a cycle or too long; or unreadable. The threads
  /// before it are right.
  Error error;
};

/// The crash record that the runtime left before it ended the process; empty: none so far. Errors as of `AotThreads`.
[[nodiscard]] Result<std::string> read_aot_crash_record(const MemoryReader& memory, Address header);
/// `header` is the address of DotNetRuntimeDebugHeader. The list may change while it is read: check the ids against
/// the known threads.
[[nodiscard]] AotThreads read_aot_threads(const MemoryReader& memory, Address header);
/// The same for .NET 11, which has a descriptor in place of that header.
[[nodiscard]] AotThreads read_aot_threads(const MemoryReader& memory, const Descriptor& descriptor);

}  // namespace mixstack::dotnet
