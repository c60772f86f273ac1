// Says in words why a process cannot be recorded.
#pragma once

#include "features/machine/explained_opening.h"
#include "features/record/open_recorder.h"

namespace mixstack::machine {

/// The cause of a recorder that could not be opened, or of the error that ended one, and what would help.
[[nodiscard]] Refused refused_recording(const record::NotOpened& fault, std::uint32_t pid);

}  // namespace mixstack::machine
