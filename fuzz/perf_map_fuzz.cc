// LINK: mixstack_engine_symbols
// Lists of generated code that a process has written: what is found covers the place that was asked for, under a name
// fit for a terminal.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/symbols/perf_map.h"

using namespace mixstack;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const symbols::PerfMap map(std::string(reinterpret_cast<const char*>(data), size));
  for (Address address = 0xf00; address < 0x3100; address += 61) {
    const auto entry = map.find(address);
    if (!entry) continue;
    if (!entry->range.contains(address) || entry->name.empty()) std::abort();
    if (entry->name.size() > symbols::PerfMap::kMostNameBytes) std::abort();
    for (const char c : entry->name)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
    // All of an entry is one entry.
    if (map.find(entry->range.begin)->name != entry->name || map.find(entry->range.end - 1)->name != entry->name)
      std::abort();
  }
  return 0;
}
