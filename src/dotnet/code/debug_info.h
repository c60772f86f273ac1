// Where the parts of a method's debug information lie (cDebugInfo): bounds, variables, inlined methods.
#pragma once

#include <cstdint>

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// Who wrote the bytes: only the JIT's begin with flags (patch points of OSR, inlined methods).
enum class DebugInfoWriter : std::uint8_t { jit, ready_to_run };

/// How the rows of bounds are packed.
enum class DebugInfoForm : std::uint8_t {
  nibbles,  ///< .NET 8 and 9, images of ReadyToRun before version 16: each number by itself
  bits,     ///< .NET 10: fields of as many bits as the largest needs
};

/// A part of the information; `bytes` 0: it is not there.
struct DebugInfoPart {
  Address begin = 0;
  std::uint32_t bytes = 0;
};

struct DebugInfoParts {
  DebugInfoPart inlined, bounds, variables;
};

/// Finds the parts at `blob`. Errors: those of reading, `malformed`, `limit_exceeded`.
/// Source: src/coreclr/vm/debuginfostore.cpp (CompressDebugInfo), docs/design/datacontracts/DebugInfo.md.
[[nodiscard]] Result<DebugInfoParts> find_debug_info_parts(const MemoryReader& memory, Address blob,
                                                           DebugInfoWriter writer, DebugInfoForm form);

}  // namespace mixstack::dotnet
