// The threads and verdicts that stayed the same between two answers of `mixstack why`, as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace mixstack {

struct Unmoved {
  std::chrono::milliseconds since{0};    ///< time since the answer before
  std::vector<std::uint32_t> threads{};  ///< wait for the same and have hardly run
  std::uint32_t moved = 0;               ///< others that waited then or wait now
  std::vector<bool> verdicts{};          ///< for each verdict: it was also in the answer before
};

}  // namespace mixstack
