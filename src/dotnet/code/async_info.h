// Where a method that the runtime suspends itself can be suspended, and what it keeps then (.NET 11).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dotnet/code/debug_info.h"

namespace mixstack::dotnet {

/// A variable that lives on while the method is suspended.
struct KeptVariable {
  std::int32_t number = 0;   ///< as VariableHome has it
  std::uint32_t offset = 0;  ///< from the start of the continuation
  friend bool operator==(const KeptVariable&, const KeptVariable&) = default;
};

struct SuspensionPoint {
  std::uint32_t native = 0;  ///< where the method goes on, from the start of its code
  std::vector<KeptVariable> variables;
  friend bool operator==(const SuspensionPoint&, const SuspensionPoint&) = default;
};

inline constexpr std::uint32_t kMostSuspensionPoints = 1 << 16;  ///< of one method; of their variables, too

/// Decodes what lies in the part of suspensions. Errors: `truncated`, `malformed`, `limit_exceeded`.
/// Source: DoAsyncDebugInfo in src/coreclr/vm/debuginfostore.cpp.
[[nodiscard]] Result<std::vector<SuspensionPoint>> decode_async_info(std::span<const std::byte> bytes);

/// The same of the debug information at `blob`; empty: nothing is recorded. Errors of reading, too.
[[nodiscard]] Result<std::vector<SuspensionPoint>> read_async_info(const MemoryReader& memory, Address blob,
                                                                   DebugInfoWriter writer, DebugInfoForm form);

}  // namespace mixstack::dotnet
