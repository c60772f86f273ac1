// Which processes hold the other end of the pipes and local sockets that threads wait at.
#pragma once

#include "mixstack/dump.h"

namespace mixstack::session {

/// Writes it into `WaitedObject::detail` of waits of the kinds pipe and socket ("the other end is held by 4711
/// \"writer\""), and of epoll sets what is in them. Of a process of this machine; reads links of /proc/PID/fd of all
/// processes that we may look at, if a thread waits so, within bounds (a tenth of a second): what was not met then, or
/// is another user's, is left out. After `read_native_waits`.
void tell_other_ends(ProcessDump& dump);

}  // namespace mixstack::session
