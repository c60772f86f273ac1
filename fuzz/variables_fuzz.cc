// LINK: mixstack_dotnet_code
// Any bytes as a table of variables of a method, and as the debug information that it lies in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/memory/buffer_memory.h"
#include "dotnet/code/variables.h"

using namespace mixstack;
using namespace mixstack::dotnet;

namespace {

void look(const Result<std::vector<VariableHome>>& homes) {
  if (!homes) return;
  if (homes->size() > kMostVariableHomes) std::abort();
  for (const VariableHome& home : *homes)
    if (home.end < home.begin || home.place.first >= Registers::kMax || home.place.second >= Registers::kMax)
      std::abort();
  for (const std::uint32_t native : {0u, 1u, 20u, ~0u})
    for (std::int32_t number = -6; number < 8; number++) (void)place_of(*homes, number, native);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr Address kAt = 0x10000;
  memory::BufferMemory memory;
  memory.add(kAt, std::vector<std::byte>(bytes.begin(), bytes.end()));
  for (const Arch arch : {Arch::x86_64, Arch::aarch64}) {
    for (const auto form : {DebugInfoForm::bits, DebugInfoForm::headers}) look(decode_variables(bytes, arch, form));
    for (const auto writer : {DebugInfoWriter::jit, DebugInfoWriter::ready_to_run})
      for (const auto form : {DebugInfoForm::nibbles, DebugInfoForm::bits, DebugInfoForm::headers})
        look(read_variables(memory, kAt, writer, form, arch));
  }
  return 0;
}
