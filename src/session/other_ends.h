// The processes that hold the other end of the pipes and sockets that threads wait at.
#pragma once

#include <memory>

#include "base/system/beside.h"
#include "mixstack/dump.h"

namespace mixstack::session {

/// For a process of this machine. If a thread waits at a pipe or socket, reads the links in /proc/PID/fd of all
/// processes that we may look at, for about a tenth of a second. Ends not found until then, or of other users, are left
/// out. The search runs in a thread of its own.
class OtherEnds {
 public:
  /// Begins the search, for threads whose facts were read.
  OtherEnds(const ProcessDump& dump, base::Beside& beside);
  ~OtherEnds();
  OtherEnds(const OtherEnds&) = delete;
  OtherEnds& operator=(const OtherEnds&) = delete;

  /// Fills in `WaitedObject::detail` of waits for pipes and sockets ("the other end is held by 4711 \"writer\"") and
  /// for epoll sets (their members). Call it once, after `read_native_waits`.
  void tell(ProcessDump& dump);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// For a process of this machine: names the sockets behind objects that threads or async chains wait for
/// (`ThreadWait::descriptor`), with the processes at their other end, and child processes. Searches only if there are
/// any.
void name_waited_objects(ProcessDump& dump);

}  // namespace mixstack::session
