// The signature bits of return addresses, inferred from the mappings: the kernel tells them of stopped threads only.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::bpf {

/// For this build's CPU; `regions` are the process's, by address. 0: none.
[[nodiscard]] std::uint64_t signature_bits(const std::vector<Region>& regions);

}  // namespace mixstack::bpf
