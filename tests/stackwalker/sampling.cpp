// The manual's "stack walk every five seconds" ("Debugger Interface", first listing). Corrections: the interval is an
// argument, the loop ends, results are looked at. The manual warns that events wait while the program sleeps; here they
// do not: the tracer is a process of its own.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "frame.h"
#include "swk_errors.h"
#include "walker.h"

using namespace Dyninst;
using namespace Stackwalker;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const PID pid = std::atoi(argv[1]);
  const int walks = std::atoi(argv[2]);
  const unsigned interval = static_cast<unsigned>(std::atoi(argv[3])) * 1000;
  Walker* walker = Walker::newWalker(pid);
  if (walker == nullptr) {
    std::cerr << getLastErrorMsg() << '\n';
    return 1;
  }
  std::vector<Frame> swalk;
  for (int i = 0; i < walks; i++) {
    if (!walker->walkStack(swalk)) {
      std::cerr << getLastErrorMsg() << '\n';
      return 1;
    }
    std::cout << swalk.size() << " frames\n";
    usleep(interval);
  }
  delete walker;
}
