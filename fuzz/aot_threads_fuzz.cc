// LINK: mixstack_dotnet_runtime
// Any bytes as the contract that NativeAOT exports for debuggers, and as everything it points to.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/memory/buffer_memory.h"
#include "dotnet/runtime/aot_threads.h"

using namespace mixstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr Address kBase = 0x10000;
  memory::BufferMemory memory;
  memory.add(kBase, std::as_bytes(std::span(data, size)));
  const dotnet::AotThreads found = dotnet::read_aot_threads(memory, kBase);
  for (const std::uint32_t id : found.os_ids)
    if (id == 0) std::abort();
  if (found.os_ids.size() > size) std::abort();  // each is somewhere in the bytes
  return 0;
}
