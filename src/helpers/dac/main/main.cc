// mixstack-helper: started by mixstack, which it talks to over descriptor 3; loads the DAC at descriptor 4.
#include <cstdio>
#include <cstring>

#include "base/system/scoped_fd.h"
#include "helpers/dac/seal.h"
#include "helpers/dac/service.h"

int main(int argc, char** argv) {
  using namespace mixstack;
  const auto orders = helper::parse_orders(argc, argv);
  if (!orders) {
    std::fputs("mixstack-helper is started by mixstack; see docs/dac.md\n", stderr);
    return 2;
  }
  if (!helper::seal(*orders)) return 3;
  dotnet::dac::MessageChannel channel{base::ScopedFd(dotnet::dac::kHelperSocket)};
  helper::Service(channel, dotnet::dac::kHelperDacPath).run();
  // No destructors: those of a DAC are untested, because its usual hosts never run them.
  std::_Exit(0);
}
