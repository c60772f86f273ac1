// What the runtime keeps in front of code it made: the rows that say how to unwind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/jit_map.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::agent {

/// Where the unwind rows lie in a RealCodeHeader (src/coreclr/vm/codeman.h), as the runtime's own description of its
/// structures tells (docs/design/datacontracts/contract-descriptor.md in dotnet/runtime).
struct CodeHeaderLayout {
  std::uint32_t count = 0, rows = 0;  ///< offsets of NumUnwindInfos and UnwindInfos

  /// From the JSON of a descriptor. Nothing where it does not say.
  [[nodiscard]] static std::optional<CodeHeaderLayout> in(std::string_view json);
};

/// The pieces of one native version of a method, whose hot part is `ranges[0]`, read by `memory`, which is of our own
/// process. Without a layout, or where what lies in front of the code cannot be right, its code alone decides
/// (`decoded_pieces`). Not for signal handlers.
[[nodiscard]] std::vector<JitCode> pieces_of(Arch arch, const MemoryReader& memory,
                                             const std::optional<CodeHeaderLayout>& layout,
                                             const std::vector<AddressRange>& ranges, std::uint64_t method,
                                             bool may_be_freed);

}  // namespace mixstack::agent
