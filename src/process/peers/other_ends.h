// The processes that hold the other end of the pipes and sockets that threads wait at.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/system/beside.h"
#include "mixstack/dump.h"

namespace mixstack::peers {

/// For a process of this machine. Reads links of /proc/PID/fd of all processes that we may look at, if a thread waits
/// at a pipe or socket, within bounds (a tenth of a second): what was not met then, or is another user's, is left out.
/// It looks while others work.
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

/// The processes that hold the other end of a process's pipe or connected socket, within the same bounds. Empty: not
/// known, or one of them is the process itself, or there are more than are named.
[[nodiscard]] std::vector<OtherProcess> holders_of_other_end(std::uint32_t pid, std::int32_t fd);

/// For a process of this machine: sockets that objects of threads stand for (`ThreadWait::descriptor`) are named as the
/// kernel has them, with who holds the other end; child processes get their names. Looks only if there are any.
void name_waited_objects(ProcessDump& dump);

}  // namespace mixstack::peers
