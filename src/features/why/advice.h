// The order of causes, and what to do next.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/slowness.h"

namespace mixstack::why {

/// Dearest first. A quota and a crowded machine come before all others: what else is measured is of little time then.
void sort_causes(std::vector<SlowCause>& causes);
/// Fills in `next` and `change` where they are empty.
void add_advice(std::uint32_t pid, std::vector<SlowCause>& causes);

}  // namespace mixstack::why
