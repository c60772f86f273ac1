// A part of a recording as a recording: for what shows recordings in its own way.
#pragma once

#include "model/recording_view.h"

namespace mixstack {

/// Only samples and frames that `options` ask for; of the direction and of threads and processes they say nothing here.
/// Functions, frames and threads that are in no sample any more stay in the lists.
[[nodiscard]] Recording selection_of(const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack
