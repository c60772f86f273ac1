// LINK: mixstack_agent_in_process
// What the agent reads of its own process and does not trust: images of precompiled code, what lies in front of jitted
// code, the runtime's description of that. Byte 0 chooses CPU and reader, bytes 1 and 2 a place; the rest is memory.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "agent/in_process/code_header.h"
#include "agent/in_process/image_list.h"
#include "agent/in_process/managed_code.h"
#include "base/memory/buffer_memory.h"

namespace {

using namespace mixstack;
using namespace mixstack::agent;

constexpr Address kBase = 0x7f0000010000;

void read_image(Arch arch, const MemoryReader& memory, std::uint32_t rva) {
  const auto image = CodeImage::at(kBase, arch, memory);
  if (!image) return;
  const auto row = image->row_of(rva, arch, memory);
  if (row && row->begin > rva) std::abort();
  const JitMap nothing({.most_pieces = 1, .most_regions = 2});
  const auto images = std::make_unique<ImageList>();
  if (!images->add(*image) || images->add(*image)) std::abort();
  const ManagedCode rules(arch, nothing, *images);
  self_walk::CodeRules::Answer unused;
  const Address pc = kBase + rva;
  for (const CodeAddress place : {CodeAddress::exact(pc), CodeAddress::after_call(pc)}) {
    (void)rules.general(place, memory);
    (void)rules.compact(place, memory, unused);
    (void)rules.knows(place, memory);
  }
}

void read_method(Arch arch, const MemoryReader& memory, std::size_t size, std::uint32_t at) {
  const Address begin = kBase + at % (size + 1);
  const std::vector<AddressRange> ranges{{begin, kBase + size}, {kBase, kBase + size / 4}};
  const auto pieces = pieces_of(arch, memory, CodeHeaderLayout{32, 36}, ranges, 1, false);
  JitMap map({.most_pieces = 512, .most_regions = 4});
  const ImageList images;
  for (const JitCode& code : pieces) {
    if (code.kept > JitCode::kPrologueBytes || code.range.empty()) std::abort();
    const bool is_inside = (code.range.begin >= ranges[0].begin && code.range.end <= ranges[0].end) ||
                           (code.range.begin >= ranges[1].begin && code.range.end <= ranges[1].end);
    if (!is_inside) std::abort();
    (void)map.add(code);
  }
  const ManagedCode rules(arch, map, images);
  for (Address pc = begin; pc < kBase + size && pc < begin + 64; pc += 3) {
    self_walk::CodeRules::Answer answer;
    for (const CodeAddress place : {CodeAddress::exact(pc), CodeAddress::after_call(pc)}) {
      const auto rule = rules.general(place, memory);
      if (rule && rule->count > unwind::UnwindRule::kMaxRules) std::abort();
      if (rules.compact(place, memory, answer) && answer.rule.kind != unwind::CompactKind::register_offset)
        std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Arch arch = (data[0] & 1) != 0 ? Arch::aarch64 : Arch::x86_64;
  const std::uint32_t at = data[1] + data[2] * 256u;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(3);
  memory::BufferMemory memory;
  memory.add(kBase, bytes);
  switch (data[0] >> 1 & 3) {
    case 0:
      read_image(arch, memory, at);
      break;
    case 1:
      read_method(arch, memory, bytes.size(), at);
      break;
    default: {
      const auto layout = CodeHeaderLayout::in({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      if (layout && (layout->count > 4096 || layout->rows > 4096)) std::abort();
    }
  }
  return 0;
}
