// Where the parts of a method's debug information lie (cDebugInfo): bounds, variables, inlined methods.
#pragma once

#include <cstdint>

#include "dotnet/contracts/debug_info_form.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// The writer of the bytes: before .NET 11 only the JIT's begin with flags (patch points of OSR, inlined methods).
enum class DebugInfoWriter : std::uint8_t { jit, ready_to_run };

/// A part of the information; `bytes` 0: it is not there.
struct DebugInfoPart {
  Address begin = 0;
  std::uint32_t bytes = 0;
};

struct DebugInfoParts {
  DebugInfoPart inlined, bounds, variables;
  DebugInfoPart async;  ///< where a runtime-async method suspends, and what it keeps (.NET 11)
};

/// Finds the parts at `blob`. Errors: those of reading, `malformed`, `limit_exceeded`.
/// Source: src/coreclr/vm/debuginfostore.cpp (CompressDebugInfo), docs/design/datacontracts/DebugInfo.md.
[[nodiscard]] Result<DebugInfoParts> find_debug_info_parts(const MemoryReader& memory, Address blob,
                                                           DebugInfoWriter writer, DebugInfoForm form);

}  // namespace mixstack::dotnet
