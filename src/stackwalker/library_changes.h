// Libraries that came and went between two captures, told to whoever the manual says is told.
#pragma once

#include <set>

#include "stackwalker/engine.h"
#include "stackwalker/procstate.h"

namespace Dyninst::Stackwalker {

/// ELF and PE images with their load addresses.
[[nodiscard]] std::set<LibAddrPair> loaded_libraries(mixstack::stackwalker::Engine& engine);
/// LibraryState::notifyOfUpdate, and newLibraryNotification of the group and so of its steppers.
void tell_changes(Walker& walker, const std::set<LibAddrPair>& before, const std::set<LibAddrPair>& now);

}  // namespace Dyninst::Stackwalker
