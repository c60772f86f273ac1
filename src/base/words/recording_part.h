// Some samples of a recording, with the lists they need, as a recording.
#pragma once

#include <span>

#include "mixstack/recording.h"

namespace mixstack {

/// `samples` are of `recording` (`Recording::take_fresh`); others are left out. Takes time and memory for the samples
/// and their stacks, not for the whole recording. Facts are copied, except the account, which counts these samples
/// alone.
[[nodiscard]] Recording part_of(const Recording& recording, std::span<const Sample> samples);

}  // namespace mixstack
