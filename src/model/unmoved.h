// What stayed as it was between two answers of `mixstack why`, as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace mixstack {

struct Unmoved {
  std::chrono::milliseconds since{0};    ///< the answer before
  std::vector<std::uint32_t> threads{};  ///< those that wait for the same and have hardly run
  std::uint32_t moved = 0;               ///< others that waited then or wait now
  std::vector<bool> verdicts{};          ///< of each verdict: it was one then, too
};

}  // namespace mixstack
