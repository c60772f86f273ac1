// The manual's first example ("Usage"), with the original's own program as far as the manual shows it. Corrections: the
// result of walkStack and of getName is looked at, and the Walker is deleted.
#include <iostream>
#include <string>
#include <vector>

#include "frame.h"
#include "swk_errors.h"
#include "walker.h"

namespace sw = Dyninst::Stackwalker;

int main() {
  std::vector<sw::Frame> frames;
  auto* walker = sw::Walker::newWalker();
  if (walker == nullptr || !walker->walkStack(frames)) {
    std::cerr << sw::getLastErrorMsg() << '\n';
    return 1;
  }
  std::string name;
  for (auto const& f : frames)
    if (f.getName(name)) std::cout << "Found function " << name << '\n';
  delete walker;
}
