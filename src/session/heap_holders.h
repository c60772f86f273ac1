// Finds who holds the objects of a heap, at one moment.
#pragma once

#include <functional>
#include <optional>

#include "dotnet/holders/holder_reader.h"
#include "mixstack/holders.h"
#include "mixstack/target.h"

namespace mixstack::session {

/// The search borrows all of it.
struct HolderSearch {
  Target& target;
  bool is_frozen = false;  ///< a core
  dotnet::holders::HolderReader& reader;
  /// Collections of generation 1 and above since the process began: only these move what is old. Nothing: not known.
  std::function<std::optional<std::uint64_t>()> old_collections;
  HoldersOptions options;
};

/// Never fails: an answer without a tree says why.
[[nodiscard]] HeapHolders find_heap_holders(const HolderSearch& of);

}  // namespace mixstack::session
