// Libraries that came and went, told to whoever the manual says is told.
#pragma once

#include "stackwalker/engine.h"
#include "stackwalker/procstate.h"

namespace Dyninst::Stackwalker {

/// From now on only changes of what is loaded now are told.
void know_libraries(Walker& walker, mixstack::stackwalker::Engine& engine);
/// LibraryState::notifyOfUpdate, and newLibraryNotification of the group and so of its steppers, for what came and went
/// since the last time.
void tell_changes(Walker& walker, mixstack::stackwalker::Engine& engine);
/// The same for one library, if it is news: with the debugger's event, before any walk. Touches nothing that a walk in
/// another thread uses.
void tell_change(Walker& walker, const LibAddrPair& library, lib_change_t change);

}  // namespace Dyninst::Stackwalker
