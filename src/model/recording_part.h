// Some samples of a recording, with what they need of it, as a recording.
#pragma once

#include <span>

#include "model/recording.h"

namespace mixstack {

/// `samples` are of `recording` (`Recording::take_fresh`); those that are not are left out. Time and memory are those
/// of the samples and the stacks they are in, not of the whole recording. Facts are copied but for the account, which
/// counts the samples alone.
[[nodiscard]] Recording part_of(const Recording& recording, std::span<const Sample> samples);

}  // namespace mixstack
