// LINK: mixstack_dotnet_names
// Any bytes as what NativeAOT keeps for stack traces: two bytes say how long the map of methods is, which comes first;
// the metadata follows. The same bytes are a ReadyToRun header, too, and the map of types with its references.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/memory/buffer_memory.h"
#include "dotnet/names/aot_methods.h"
#include "dotnet/names/aot_types.h"

using namespace mixstack;
using namespace mixstack::dotnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  const std::size_t length = std::min<std::size_t>(data[0] + std::size_t{data[1]} * 256, bytes.size());
  const std::vector<std::byte> map(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
  const std::vector<std::byte> metadata(bytes.begin() + static_cast<std::ptrdiff_t>(length), bytes.end());
  constexpr Address kMap = 0x100000;
  constexpr AddressRange kCode{0xf0000, 0x110000};
  if (const auto methods = names::AotMethods::parse(metadata, map, kMap, kCode))
    for (Address start = kCode.begin; start < kCode.end; start += 16)
      if (const auto name = methods->name(start); name && name->name.size() > 8192) std::abort();
  if (const auto types = names::AotTypes::parse(metadata, map, map, kMap)) {
    const std::vector<std::string> argument{"int"};
    for (Address at = kMap - 0x1000; at < kMap + 0x1000; at++)
      for (const auto& arguments : {std::vector<std::string>(), argument})
        if (const auto name = types->name(at, arguments); name && name->size() > 8192) std::abort();
  }
  memory::BufferMemory memory;
  memory.add(kMap, std::vector<std::byte>(bytes.begin(), bytes.end()));
  (void)names::find_aot_blobs(memory, kMap);
  return 0;
}
