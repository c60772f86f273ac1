// Tells users of the API which libraries were loaded or unloaded, as the manual specifies.
#pragma once

#include "frontends/stackwalker/engine.h"
#include "stackwalker/procstate.h"

namespace Dyninst::Stackwalker {

/// Notes the present libraries: from now on only changes are reported.
void know_libraries(Walker& walker, mixstack::stackwalker::Engine& engine);
/// Calls LibraryState::notifyOfUpdate, and newLibraryNotification of the group and its steppers, for changes since the
/// last call.
void tell_changes(Walker& walker, mixstack::stackwalker::Engine& engine);
/// The same for one library, if it is new, with the debugger's event and before any walk. Touches no data that a walk
/// in another thread uses.
void tell_change(Walker& walker, const LibAddrPair& library, lib_change_t change);

}  // namespace Dyninst::Stackwalker
