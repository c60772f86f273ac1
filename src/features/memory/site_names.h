// Names of places in the program, by stacks of a recording.
#pragma once

#include <cstdint>
#include <string>

#include "mixstack/recording.h"

namespace mixstack::memory_use {

/// Empty strings: as in NativeSite.
struct SiteName {
  std::string place, via, caller;
  friend auto operator<=>(const SiteName&, const SiteName&) = default;  // NOLINT(modernize-use-nullptr): its 0
};

/// The innermost function of the program's own code; without one the innermost managed method, else the innermost
/// function that has a name and is none of the C library's.
[[nodiscard]] SiteName site_name(const Recording& recording, std::uint32_t stack);

}  // namespace mixstack::memory_use
