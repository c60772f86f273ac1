// Functions of the runtime by the names under which its managed part calls them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/images/elf_image.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::counters {

struct InternalCall {
  std::string_view name;
  /// Its table has the function in front of the name (ECFunc, coreclr/vm/ecall.h), or behind it (DllImportEntry,
  /// native/minipal/entrypoints.h).
  bool is_before = true;
};

/// The functions of these calls, in their order; 0: it is in no table, or in two that differ. `segments` are those of
/// the runtime's image, which is loaded `bias` above its own addresses; `memory` is read as it was loaded.
[[nodiscard]] std::vector<Address> find_internal_calls(std::span<const images::Segment> segments, Address bias,
                                                       const MemoryReader& memory,
                                                       std::span<const InternalCall> wanted);

}  // namespace mixstack::dotnet::counters
