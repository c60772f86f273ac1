// The manual's second example ("Usage"): the same of another process, by newWalker(pid). Prints every thread, with what
// gdb prints of a frame.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "frame.h"
#include "swk_errors.h"
#include "walker.h"

namespace sw = Dyninst::Stackwalker;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const Dyninst::PID pid = std::atoi(argv[1]);
  auto* walker = sw::Walker::newWalker(pid);
  if (walker == nullptr) {
    std::cerr << sw::getLastErrorMsg() << '\n';
    return 1;
  }
  std::vector<Dyninst::THR_ID> threads;
  int result = walker->getAvailableThreads(threads) ? 0 : 1;
  for (const Dyninst::THR_ID thread : threads) {
    std::vector<sw::Frame> frames;
    const bool whole = walker->walkStack(frames, thread);
    std::cout << "Thread " << std::dec << thread << (whole ? " whole" : " cut") << '\n';
    if (!whole) result = 1;
    for (auto const& f : frames) {
      std::string name = "?";
      (void)f.getName(name);
      std::cout << "Found " << std::hex << f.getRA() << ' ' << f.getSP() << ' ' << name << '\n';
    }
  }
  delete walker;
  return result;
}
