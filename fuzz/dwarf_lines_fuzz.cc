// LINK: mixstack_engine_dwarf
// LIMITS: -rss_limit_mb=2048 -max_len=65536
// Any bytes as an image with debug information: lines and inlined functions of addresses in it. Libdw reads them, which
// is not ours and dies of some: in the child, as for a dump. What ends the fuzzer is ours: the image made of sections,
// what is made of answers, and a child that is waited for too long.
#include <cstddef>
#include <cstdint>

#include "engine/dwarf/line_child.h"
#include "engine/images/file_bytes.h"

using namespace mixstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using symbols::DebugSections;
  const auto bytes = std::as_bytes(std::span(data, size));
  auto image = images::ElfImage::from_file(images::buffer_file_bytes({bytes.begin(), bytes.end()}));
  if (!image) return 0;
  symbols::LineBudget budget{std::chrono::seconds(2), 1 << 20};
  auto child = symbols::LineChild::start(*image, *image, DebugSections::Packed::all, budget);
  if (!child) return 0;
  for (std::uint64_t address = 0; address < 0x1400; address += 0x41) (void)(*child)->at(address);
  return 0;
}
