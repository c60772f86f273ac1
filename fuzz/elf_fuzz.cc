// LINK: mixstack_engine_unwind
// Everything that reads an ELF or PE image: headers, notes, sections, compressed ones, symbols, MiniDebugInfo, PLTs,
// dynamic symbols, unwind sections; from a file, from memory, as a mapped module.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/memory/buffer_memory.h"
#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"
#include "engine/images/module_map.h"
#include "engine/images/pe_image.h"
#include "engine/unwind/prologue/code_functions.h"

namespace {

using namespace mixstack;
using namespace mixstack::images;

constexpr Address kBase = 0x400000;

void read_symbols(const std::shared_ptr<const ElfImage>& image) {
  const auto table = SymbolTable::build(find_symbol_sources(image, "/lib/x", nullptr));
  for (const auto& s : image->segments())
    for (std::uint64_t i = 0; i < 64; i++) (void)table->find(s.vaddr + i * (s.memory_size / 64 + 1));
}

void read_code(const ElfImage& image) {
  const unwind::CodeFunctions functions(image);
  if (!std::is_sorted(functions.starts().begin(), functions.starts().end())) std::abort();
  for (std::size_t i = 0; i < functions.size(); i += functions.size() / 64 + 1) {
    const std::uint64_t start = functions.starts()[i];
    const auto around = functions.around(start);
    if (around && (around->begin != start || around->end <= start)) std::abort();
  }
}

void read_image(const std::shared_ptr<const ElfImage>& image) {
  for (const auto& s : image->sections().first(std::min<std::size_t>(image->sections().size(), 64)))
    (void)image->load(s);
  (void)image->unwind_sections();
  (void)image->dynamic_symbol("DotNetRuntimeContractDescriptor");
  (void)image->build_id().hex();
  read_symbols(image);
  read_code(*image);
}

void read_as_module(std::span<const std::byte> bytes) {
  memory::BufferMemory memory;
  memory.add(kBase, bytes);
  Region first, second;
  first.range = {kBase, kBase + 0x1000};
  first.readable = true;
  first.inode = second.inode = 1;
  first.path = second.path = "/lib/x";
  second.range = {kBase + 0x1000, kBase + 0x1000 + ((bytes.size() + 0xfff) & ~std::size_t{0xfff})};
  second.file_offset = 0x1000;
  second.readable = second.executable = true;
  const auto map = ModuleMap::build(std::vector{first, second}, memory, nullptr);
  for (ModuleIndex i = 0; i < map.modules().size(); i++) {
    (void)map.build_id(i);
    if (const auto image = map.image(i)) read_image(*image);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto image = ElfImage::from_file(buffer_file_bytes({bytes.begin(), bytes.end()}))) read_image(*image);
  memory::BufferMemory memory;
  memory.add(kBase, bytes);
  if (const auto image = ElfImage::from_memory(memory, kBase, 1 << 20)) (void)(*image)->unwind_sections();
  for (const auto layout : {PeLayout::flat, PeLayout::mapped})
    if (const auto image = PeImage::from_bytes(bytes, layout)) (void)image->cli_header();
  read_as_module(bytes);
  return 0;
}
