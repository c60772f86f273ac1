// LINK: mixstack_dotnet_gcinfo
// Any bytes as the header of a method's GC info, and as its live slots at some offsets.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "dotnet/gcinfo/live_slots.h"

using namespace mixstack;
using namespace mixstack::dotnet;

static void look_at_slots(std::span<const std::byte> bytes, Arch arch, std::uint32_t version, const GcInfoHeader& h) {
  const std::uint32_t offsets[] = {0, h.code_length / 2, h.code_length, bytes.empty() ? 0u : std::uint32_t(bytes[0])};
  for (const std::uint32_t offset : offsets)
    for (const bool is_aborted : {false, true}) {
      const auto live = decode_live_slots(bytes, arch, version, {offset, is_aborted, false});
      if (!live) continue;
      if (offset > h.code_length || live->slots.size() > bytes.size() * 8 / 3) std::abort();
      const auto tracked = decode_live_slots(bytes, arch, version, {offset, is_aborted, true});
      if (!tracked || tracked->slots.size() > live->slots.size()) std::abort();
      if (!std::equal(tracked->slots.begin(), tracked->slots.end(), live->slots.begin())) std::abort();
      for (const GcSlot& slot : live->slots)
        if (slot.reg >= Registers::kMax || slot.offset % 8 != 0) std::abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const Arch arch : {Arch::x86_64, Arch::aarch64})
    for (const std::uint32_t version : {3u, 4u, 5u}) {
      const auto h = decode_gc_info_header(bytes, arch, version);
      if (!h) continue;
      if (h->code_length == 0 || h->prologue_size > h->code_length || h->body_bit > size * 8) std::abort();
      if (h->base_register.value_or(0) >= Registers::kMax || h->context_slot % 8 != 0) std::abort();
      look_at_slots(bytes, arch, version, *h);
    }
  return 0;
}
