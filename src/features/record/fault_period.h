// How many page faults a sample stands for.
#pragma once

#include <cstdint>

namespace mixstack::record {

/// So that some `wanted` samples a second are taken of a process, by its faults in the next 40 ms. Odd: no power of
/// two, in which memory is often touched. At least 1.
[[nodiscard]] std::uint64_t fault_period(std::uint32_t pid, double wanted);

}  // namespace mixstack::record
