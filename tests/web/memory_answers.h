// Moments of memory of which it is known what their page must show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mixstack/holders.h"
#include "mixstack/memory_moment.h"

namespace mixstack::web_test {

struct MemoryPages {
  MemoryMoment before, after;
  std::optional<MemoryGrowth> growth;  ///< nothing: one moment, `after`
  std::vector<HeapHolders> holders;    ///< of `after`
};
/// "one", "two", "hostile", "many" (20,000 types), "tree", "core". Nothing: no such kind.
[[nodiscard]] std::optional<MemoryPages> memory_pages(const std::string& kind);

}  // namespace mixstack::web_test
