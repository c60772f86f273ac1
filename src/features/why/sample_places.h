// The place in the program that most samples of some kind have.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "mixstack/recording.h"

namespace mixstack::why {

struct SamplePlace {
  std::string place{};        ///< "Shop.Scale() at Scale.cs:31"; empty: no sample has one
  std::uint64_t samples = 0;  ///< there
  std::uint64_t of = 0;       ///< of all that were counted
};

/// The innermost function of the program's own code that most of the samples have for which `counts` answers true; if
/// none of them has any, the innermost managed one; else the innermost one with a name that is neither the kernel's nor
/// a runtime's.
[[nodiscard]] SamplePlace place_of_samples(const Recording& recording,
                                           const std::function<bool(std::span<const std::uint32_t> frames)>& counts);

}  // namespace mixstack::why
