// The nibble map of a code heap: from an address to the start of the method that holds it.
#pragma once

#include <cstdint>

#include "dotnet/contracts/algorithms.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// One heap's map: a nibble for every 32 bytes of code, eight to a 32-bit unit. A nibble v of 1 to 8 says that a method
/// starts at 32k + 4(v-1). Sources: docs/design/datacontracts/ExecutionManager.md ("NibbleMap") and
/// NibbleMap{Constant,Linear}Lookup.cs in dotnet/runtime.
struct NibbleMap {
  /// The linear form is walked back nibble by nibble; in the constant-time form a unit that lies wholly inside a method
  /// holds a pointer to its start, which bounds the search to two units.
  /// The linear one gives up after so many units without a method: 64 MiB of one method's code.
  static constexpr std::uint32_t kMaxUnits = 1u << 18;

  NibbleMapForm form = NibbleMapForm::constant_time;
  Address map_base = 0;    ///< the address nibble 0 speaks of
  Address header_map = 0;  ///< the units

  /// Start of the method whose code may hold `pc`; the map does not say where methods end, so that the answer for an
  /// address behind a method is that method. `not_found` when no method starts at or before it, `unreadable_memory`,
  /// `malformed` for a back pointer behind `pc`, `limit_exceeded`.
  [[nodiscard]] Result<Address> method_start(const MemoryReader& memory, Address pc) const;
};

}  // namespace mixstack::dotnet
