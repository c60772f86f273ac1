// The manual's loop with a notification descriptor ("Debugger Interface", second listing). Corrections: `select` gets
// the highest descriptor plus one instead of 1; the sets are filled before every call, because `select` changes them;
// FD_ISSET gets the set's address and is asked only when `select` found something; the time left is kept, or events
// would postpone the next walk for ever; includes; the loop ends with the process; results are looked at.
#include <sys/select.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "frame.h"
#include "procstate.h"
#include "swk_errors.h"
#include "walker.h"

using namespace Dyninst;
using namespace Stackwalker;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const PID pid = std::atoi(argv[1]);
  const auto interval = std::chrono::milliseconds(std::atoi(argv[2]));
  Walker* walker = Walker::newWalker(pid);
  if (walker == nullptr) {
    std::cerr << getLastErrorMsg() << '\n';
    return 1;
  }
  ProcDebug* debugger = dynamic_cast<ProcDebug*>(walker->getProcessState());
  std::vector<Frame> swalk;
  int walks = 0, events = 0;
  while (!debugger->isTerminated()) {
    if (walker->walkStack(swalk)) walks++;
    const auto next_walk = std::chrono::steady_clock::now() + interval;
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::microseconds>(next_walk - std::chrono::steady_clock::now());
      struct timeval timeout = {};
      timeout.tv_usec = std::max<long>(0, left.count());
      const int fd = ProcDebug::getNotificationFD();
      fd_set readfds;
      FD_ZERO(&readfds);
      FD_SET(fd, &readfds);
      const int result = select(fd + 1, &readfds, nullptr, nullptr, &timeout);
      if (result > 0 && FD_ISSET(fd, &readfds)) {
        // Debug event
        if (ProcDebug::handleDebugEvent()) events++;
      }
      if (result <= 0 || debugger->isTerminated()) break;
    }
  }
  std::cout << walks << " walks " << events << " events\n";
  delete walker;
}
