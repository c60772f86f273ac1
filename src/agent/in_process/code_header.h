// Reads the header that the runtime keeps in front of jitted code: the rows of its unwind data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/in_process/jit_map.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::agent {

/// Offsets of the unwind rows in a RealCodeHeader (src/coreclr/vm/codeman.h), from the runtime's contract descriptor
/// (docs/design/datacontracts/contract-descriptor.md in dotnet/runtime).
struct CodeHeaderLayout {
  std::uint32_t count = 0, rows = 0;  ///< offsets of NumUnwindInfos and UnwindInfos

  /// From the JSON of a descriptor. Nothing: the descriptor lacks them.
  [[nodiscard]] static std::optional<CodeHeaderLayout> in(std::string_view json);
};

/// The pieces of one native version of a method, whose hot part is `ranges[0]`; `memory` reads our own process. Without
/// a layout, or if the header's rows are implausible, the code alone decides (`decoded_pieces`). Not for signal
/// handlers.
[[nodiscard]] std::vector<JitCode> pieces_of(Arch arch, const MemoryReader& memory,
                                             const std::optional<CodeHeaderLayout>& layout,
                                             const std::vector<AddressRange>& ranges, std::uint64_t method,
                                             bool may_be_freed);

}  // namespace mixstack::agent
