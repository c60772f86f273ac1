// LINK: mixstack_dotnet_gcinfo
// Any bytes as the header of a method's GC info.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "dotnet/gcinfo/gc_info.h"

using namespace mixstack;
using namespace mixstack::dotnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const Arch arch : {Arch::x86_64, Arch::aarch64})
    for (const std::uint32_t version : {3u, 4u, 5u}) {
      const auto h = decode_gc_info_header(bytes, arch, version);
      if (!h) continue;
      if (h->code_length == 0 || h->prologue_size > h->code_length || h->body_bit > size * 8) std::abort();
      if (h->base_register.value_or(0) >= Registers::kMax || h->context_slot % 8 != 0) std::abort();
    }
  return 0;
}
