// LINK: mixstack_process_debugger
// The dynamic linker's list in memory made of the input, mapped where the program headers are
// said to be: every pointer of a small address leads somewhere into it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "base/memory/buffer_memory.h"
#include "process/debugger/link_map_list.h"

using namespace mixstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr Address kBase = 0x1000;
  memory::BufferMemory memory;
  memory.add(kBase, std::as_bytes(std::span(data, size)));
  process::LinkMapList list(kBase, size == 0 ? 0 : data[0] % 16);
  const auto state = list.read(memory, "/program");
  if (state && state->libraries.size() > 64 * 4096) std::abort();
  if (state)
    for (const auto& library : state->libraries)
      if (library.path.size() > 4096) std::abort();
  (void)list.trap(memory);
  return 0;
}
