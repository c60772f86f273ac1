// Around the agent's JitMap::add (the linker's --wrap): every piece that the map took goes to the file that
// MIXSTACK_TEST_CODE names, a line each: where it begins, where it ends.
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "agent/in_process/jit_map.h"

using mixstack::AddressRange;
using mixstack::agent::JitCode;
using mixstack::agent::JitMap;

// Member functions of both CPUs take the object as their first argument.
#define MIXSTACK_ADD _ZN8mixstack5agent6JitMap3addERKNS0_7JitCodeEPSt6vectorINS_12AddressRangeESaIS6_EE
#define MIXSTACK_JOIN(a, b) a##b
#define MIXSTACK_NAME(a, b) MIXSTACK_JOIN(a, b)

extern "C" {
bool MIXSTACK_NAME(__real_, MIXSTACK_ADD)(JitMap* map, const JitCode& code, std::vector<AddressRange>* replaced);
bool MIXSTACK_NAME(__wrap_, MIXSTACK_ADD)(JitMap* map, const JitCode& code, std::vector<AddressRange>* replaced) {
  const bool is_there = MIXSTACK_NAME(__real_, MIXSTACK_ADD)(map, code, replaced);
  const char* path = std::getenv("MIXSTACK_TEST_CODE");
  if (path == nullptr || !is_there) return is_there;
  char line[64];
  const int size =
      std::snprintf(line, sizeof(line), "%" PRIx64 " %" PRIx64 "\n", std::uint64_t{code.range.begin}, code.range.end);
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  (void)!::write(file, line, static_cast<std::size_t>(size));
  (void)::close(file);
  return is_there;
}
}
