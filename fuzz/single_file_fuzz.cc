// LINK: mixstack_dotnet_code
// Programs that are one file with all their assemblies in it. mixstack does not read the bundle's own header: it sees
// parts of that file mapped everywhere, some of them images, some not. Here the input is the file and the list of its
// mappings; every answer must stay inside what is mapped, and the runtime is looked for in all of it.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/memory/buffer_memory.h"
#include "base/system/byte_cursor.h"
#include "dotnet/code/runtime.h"
#include "engine/images/file_bytes.h"
#include "engine/images/module_map.h"
#include "engine/images/pe_image.h"

namespace {

using namespace mixstack;
using namespace mixstack::images;

constexpr std::uint64_t kPage = 4096, kMaxMappings = 48;

void require(bool ok) {
  if (!ok) std::abort();
}

/// Four bytes a mapping: distance from the one before, pages, offset, permissions.
std::vector<Region> read_mappings(base::ByteCursor& c) {
  std::vector<Region> regions;
  Address at = 0x100000;
  const unsigned count = c.u8() % kMaxMappings;
  for (unsigned i = 0; i < count; i++) {
    Region r;
    at += std::uint64_t{c.u8()} * kPage;
    r.range = {at, at + (std::uint64_t{c.u8()} % 64 + 1) * kPage};
    r.file_offset = std::uint64_t{c.u8()} * kPage;
    const unsigned bits = c.u8();
    r.readable = (bits & 1) == 0;
    r.writable = (bits & 2) != 0;
    r.executable = (bits & 4) != 0;
    r.shared = (bits & 8) != 0;
    r.deleted = (bits & 16) != 0;
    r.inode = (bits & 32) != 0 ? 0 : 7;
    r.path = r.inode != 0 ? "/app/program" : (bits & 64) != 0 ? "[vdso]" : "";
    at = r.range.end;
    regions.push_back(std::move(r));
  }
  return regions;
}

/// What lies in the mappings: the file from their offset on, zeros behind its end.
memory::BufferMemory map_file(const std::vector<Region>& regions, std::span<const std::byte> file) {
  memory::BufferMemory memory;
  for (const Region& r : regions) {
    const auto offset = std::min<std::uint64_t>(r.file_offset, file.size());
    const auto n = std::min<std::uint64_t>(file.size() - offset, r.range.size());
    if (r.readable && n != 0) memory.add(r.range.begin, file.subspan(offset, n));
  }
  return memory;
}

void check(const ModuleMap& map, const std::vector<Region>& regions) {
  require(map.modules().size() <= regions.size());
  Address last = 0;
  for (ModuleIndex i = 0; i < map.modules().size(); i++) {
    const Module& m = map.modules()[i];
    require(m.range.begin >= last && m.range.begin < m.range.end && !m.executable.empty());
    last = m.range.begin;
    for (const AddressRange& code : m.executable) {
      require(std::any_of(regions.begin(), regions.end(),
                          [&](const Region& r) { return r.range == code && r.executable; }));
      require(map.find(code.begin) == i && map.find(code.end - 1) == i && map.is_executable(code.begin));
    }
    (void)map.build_id(i);
    if (const auto image = map.image(i)) (void)(*image)->unwind_sections();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  base::ByteCursor c(std::as_bytes(std::span(data, size)));
  const bool can_open = c.u8() % 2 != 0;
  const auto regions = read_mappings(c);
  const auto file = c.bytes(c.remaining());
  const auto memory = map_file(regions, file);
  const auto open = [&](const Region&) -> Result<std::shared_ptr<const FileBytes>> {
    if (!can_open) return fail(ErrorCode::not_found);
    return buffer_file_bytes({file.begin(), file.end()});
  };
  const auto map = ModuleMap::build(regions, memory, open);
  check(map, regions);
  for (const auto& runtime : dotnet::find_runtimes(map, "/app/program"))
    if (const auto facts = dotnet::RuntimeFacts::open(memory, runtime)) (void)(*facts)->can_walk();
  // Bundled assemblies lie flat in the file, wherever a mapping of it begins.
  for (const Region& r : regions)
    for (const auto layout : {PeLayout::flat, PeLayout::mapped})
      if (const auto pe = PeImage::from_memory(memory, r.range.begin, layout, r.range.size())) {
        const auto cli = pe->cli_header();
        if (cli) (void)pe->address_of(cli->metadata.rva, cli->metadata.size);
      }
  return 0;
}
