// LINK: mixstack_dotnet_counters
// Functions of any code, followed over any memory: byte 0 chooses the CPU, the rest is code and data alike. Bounded,
// and never outside the bytes given. The same bytes are the tables of a runtime's image.
#include <array>
#include <cstdlib>

#include "base/memory/buffer_memory.h"
#include "dotnet/counters/aarch64/instruction.h"
#include "dotnet/counters/internal_calls.h"
#include "dotnet/counters/trace.h"
#include "dotnet/counters/x86_64/instruction.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mixstack;                    // NOLINT
  using namespace mixstack::dotnet::counters;  // NOLINT
  if (size < 2) return 0;
  const Arch arch = (data[0] & 1) != 0 ? Arch::aarch64 : Arch::x86_64;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  for (std::size_t at = 0; at < bytes.size(); at++) {
    const auto rest = bytes.subspan(at);
    const Instruction x64 = x86_64::decode(rest, at), arm64 = aarch64::decode(rest, at);
    if (x64.length > rest.size() || arm64.length > rest.size() || x64.length > 15) std::abort();
  }
  constexpr Address kBase = 0x10000;
  memory::BufferMemory memory;
  memory.add(kBase, bytes);
  for (const std::uint64_t second : {std::uint64_t{0}, std::uint64_t{1}}) {
    const auto trace = follow(arch, memory, kBase, {data[0] & 2u ? kObject : kBase, second, 0});
    if (trace && (trace->calls.size() > kMostCalls || trace->read_of_thread.size() > kMostCalls)) std::abort();
  }
  const std::array<images::Segment, 3> segments{
      {{1, 4, 0, 0, size - 1, size - 1}, {1, 5, 0, 0, size - 1, size - 1}, {1, 6, 0, 0, size - 1, size - 1}}};
  const std::array<InternalCall, 2> wanted{{{"a"}, {"Pauses", false}}};
  (void)find_internal_calls(segments, kBase, memory, wanted);
  return 0;
}
