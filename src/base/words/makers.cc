#include "mixstack/makers.h"

namespace mixstack {

std::uint64_t MemoryMakers::small() const {
  std::uint64_t all = 0;
  for (const MakerThread& thread : threads) all += thread.small;
  return all;
}

std::uint64_t MemoryMakers::large() const {
  std::uint64_t all = 0;
  for (const MakerThread& thread : threads) all += thread.large;
  return all;
}

}  // namespace mixstack
