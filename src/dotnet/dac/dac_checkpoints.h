// A DAC's walk of one thread for the mixed walk: explicit Frames as witnesses and places to resume.
#pragma once

#include <vector>

#include "dotnet/dac/protocol.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::dotnet::dac {

/// The registers that a kind of explicit Frame restores, by its name in any runtime since .NET 8. Sources:
/// src/coreclr/vm/frames.h of each release.
struct RecordKind {
  std::uint64_t known = 0;   ///< registers it defines, one bit per DWARF number
  bool interrupted = false;  ///< the pc it restores was interrupted, not calling
};
[[nodiscard]] RecordKind record_kind(std::string_view name, Arch arch);

/// Each Frame of the walk once, ascending by address. A Frame is a place to resume if the walk behind it goes on with
/// other registers, in managed code.
[[nodiscard]] std::vector<walk::Checkpoint> checkpoints_of(std::span<const Element> elements);

}  // namespace mixstack::dotnet::dac
