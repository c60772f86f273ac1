// .NET 9 describes its threads, types and methods, but neither its code nor its explicit Frames. The missing part is
// known here, and is used only after it was checked against the process.
#pragma once

#include "dotnet/contracts/descriptor.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet {

/// Name of the dynamic symbol of libcoreclr.so: an array of addresses, made for the DAC
/// (src/coreclr/debug/ee/dactable.cpp in dotnet/runtime).
inline constexpr std::string_view kDacTableSymbol = "g_dacTable";

/// Where the image of such a runtime is.
struct DacTablePlace {
  Address table = 0;       ///< 0: not exported
  Address image_base = 0;  ///< load bias
  Arch arch = Arch::unknown;
  bool is_known_release = false;  ///< then memory that a core lacks is no contradiction
};

/// Whether `described` tells threads and types but nothing of code: .NET 9.
[[nodiscard]] bool leaves_out_code(const Descriptor& described);

/// `described` with the contracts ExecutionManager 1 (linear nibble maps) and StackWalk 1, the structures these need,
/// and what their globals are in this process. Refusals, with the subject "ExecutionManager": `not_found` (no table, or
/// empty: a process that has just begun), `unsupported_cpu`, `contract_unsupported` (structures or table are not those
/// of 9.0 as we know them), `mismatch` (they are, but its core library does not lie where they say).
[[nodiscard]] Diagnosed<Descriptor> describe_code_of_9(const MemoryReader& memory, const DacTablePlace& place,
                                                       const Descriptor& described,
                                                       const MemoryReader* constants = nullptr);

}  // namespace mixstack::dotnet
