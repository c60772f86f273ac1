// LINK: mixstack_dotnet_names
// Any bytes as a portable PDB, as debug information of a method, and as an image that says where its PDB is.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/memory/buffer_memory.h"
#include "dotnet/code/il_map.h"
#include "dotnet/code/native_array.h"
#include "dotnet/names/pdb_finder.h"

using namespace mixstack;
using namespace mixstack::dotnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto pdb = names::PortablePdb::open(names::MetadataBytes::borrow(bytes, nullptr)))
    for (std::uint32_t method = 0; method < 32; method++)
      for (const std::uint32_t il : {0u, 20u, ~0u}) {
        (void)(*pdb)->line_at(method, il);
        (void)(*pdb)->locals_at(method, il);
      }
  memory::BufferMemory memory;
  constexpr Address kAt = 0x10000;
  memory.add(kAt, std::vector<std::byte>(bytes.begin(), bytes.end()));
  for (const auto writer : {DebugInfoWriter::jit, DebugInfoWriter::ready_to_run})
    for (const auto form : {DebugInfoForm::nibbles, DebugInfoForm::bits, DebugInfoForm::headers})
      if (const auto map = read_il_map(memory, kAt, writer, form)) (void)il_offset_at(*map, 20);
  const NativeArray array(memory, {kAt, kAt + size});
  for (std::uint32_t i = 0; i < 40; i++)
    if (const auto element = array.at(i)) (void)array.number_at(*element);
  for (const auto layout : {images::PeLayout::flat, images::PeLayout::mapped}) {
    names::PdbLookup lookup;
    if (const auto image = images::PeImage::from_bytes(bytes, layout))
      (void)names::find_pdb(*image, {}, nullptr, nullptr, lookup);
  }
  return 0;
}
