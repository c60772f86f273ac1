#include "mixstack/native_growth.h"

#include <algorithm>

namespace mixstack {

bool NativeSite::is_steady() const {
  constexpr std::uint64_t kPart = 5;  // a burst at the middle of the time has a little of both halves
  return std::min(halves[0], halves[1]) > bytes / kPart;
}

}  // namespace mixstack
