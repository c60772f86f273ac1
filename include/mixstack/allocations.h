// Objects that threads are just making, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

/// A thread at the moment when its runtime gave it room for an object.
struct NewObject {
  std::vector<std::uint64_t> words{};  ///< its registers
  bool is_large = false;               ///< an object of the large object heap
};

}  // namespace mixstack
