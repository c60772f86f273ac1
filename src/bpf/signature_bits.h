// Which bits of a return address are signature, told by the mappings: nobody asks the kernel about a thread that is not
// stopped.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::bpf {

/// Of this build's CPU; `regions` are those of the process, by address. 0: none.
[[nodiscard]] std::uint64_t signature_bits(const std::vector<Region>& regions);

}  // namespace mixstack::bpf
