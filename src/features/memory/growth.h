// Growth from one moment to another, as data alone.
#pragma once

#include "mixstack/memory_moment.h"

namespace mixstack::memory_use {

/// Objects that a full collection has left in generation 2, at two times.
struct KeptObjects {
  std::vector<HeapTypes> first, last;
  std::uint32_t collections = 0;  ///< full ones between the two
};

/// `kept` may be null.
[[nodiscard]] MemoryGrowth growth_between(const MemoryMoment& before, const MemoryMoment& after,
                                          const KeptObjects* kept);

}  // namespace mixstack::memory_use
