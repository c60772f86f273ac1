// mixstack-fetch: started by mixstack, makes the HTTP requests that it is sent over descriptor 3.
#include <cstdio>

#include "base/system/service_process.h"
#include "helpers/fetch/network_seal.h"
#include "helpers/fetch/service.h"

int main(int argc, char** argv) {
  using namespace mixstack;
  const auto parent = fetcher::parse_orders(argc, argv);
  if (!parent) {
    std::fputs("mixstack-fetch is started by mixstack; see docs/symbols.md and docs/push.md\n", stderr);
    return 2;
  }
  if (!fetcher::seal(*parent)) return 3;
  fetcher::serve(base::kServiceSocket);
  return 0;
}
