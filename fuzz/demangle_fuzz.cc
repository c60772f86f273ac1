// LINK: mixstack_engine_symbols
// Linker symbols of a hostile image: bounded text, fit for terminals.
#include <cstdint>
#include <cstdlib>

#include "engine/symbols/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mixstack::symbols;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto text = printable(demangle(name));
  if (text.size() > kMaxDemangled) std::abort();
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
  return 0;
}
