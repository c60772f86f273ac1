// The bits of return addresses that pointer authentication uses in this process; twins in x86_64/ and aarch64/.
#pragma once

#include <cstdint>

namespace mixstack::memory {

/// Bits of a return address that hold its authentication code; 0 where nothing signs. Signal-safe.
[[nodiscard]] std::uint64_t own_pac_mask();

}  // namespace mixstack::memory
