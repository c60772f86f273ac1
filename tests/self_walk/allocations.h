// Counts allocations that are made inside a walk.
#pragma once

#include <cstdint>

namespace self_walk_test {

/// Of the calling thread. While set, every malloc, calloc, realloc, memalign and operator new is counted.
void set_in_walk(bool in_walk);
[[nodiscard]] std::uint64_t allocations_in_walks();
[[nodiscard]] std::uint64_t allocations();

}  // namespace self_walk_test
