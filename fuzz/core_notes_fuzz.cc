// LINK: mixstack_process_core
// The notes of a core and the memory map made of them. The first byte says which CPU they are
// of.
#include <cstdlib>

#include "process/core/core_notes.h"
#include "process/core/core_regions.h"

namespace {

using namespace mixstack;
using namespace mixstack::process;

void check(const CoreNotes& notes, std::size_t size) {
  // Nothing is made up: each thing takes its share of the bytes.
  if (notes.threads.size() * 336 > size || notes.mappings.size() * 25 > size || notes.auxv.size() > size) std::abort();
  for (const auto& m : notes.mappings)
    if (m.range.empty()) std::abort();
}

void check(const std::vector<CoreRegion>& regions) {
  Address end = 0;
  for (const auto& r : regions) {
    if (r.region.range.empty() || r.region.range.begin < end) std::abort();
    end = r.region.range.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const CoreNotes notes = read_core_notes(bytes, (data[0] & 1) != 0 ? Arch::aarch64 : Arch::x86_64);
  check(notes, size);
  // Every second mapping as a segment, shifted: regions are made of both.
  std::vector<CoreSegment> segments;
  Address end = 0;
  for (std::size_t i = 0; i < notes.mappings.size(); i += 2) {
    const auto& range = notes.mappings[i].range;
    const Address begin = std::max(end, range.begin + (data[0] & 2U) * 0x800);
    if (begin < range.end && range.end < Address{1} << 63)
      segments.push_back({{begin, range.end}, 0, range.end - begin});
    if (!segments.empty()) end = segments.back().range.end;
  }
  check(core_regions(segments, notes.mappings, end));
  check(core_regions(segments, {}, end));
  return 0;
}
