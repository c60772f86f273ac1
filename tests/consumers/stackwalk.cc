// The same with the StackwalkerAPI, written as its manual writes programs: stackwalk PID
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "frame.h"
#include "walker.h"

using namespace Dyninst;
using namespace Stackwalker;

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Walker* walker = Walker::newWalker(static_cast<Dyninst::PID>(std::atoi(arguments[1])));
  if (walker == nullptr) return 3;
  std::vector<Frame> stack;
  const bool whole = walker->walkStack(stack);
  for (Frame& frame : stack) {
    std::string name;
    if (frame.getName(name)) std::printf("%s\n", name.c_str());
  }
  delete walker;
  return whole ? 0 : 4;
}
