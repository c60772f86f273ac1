// LINK: mixstack_engine_unwind
// ARM64 unwind data, all foreign: bytes 0 and 1 place the pc, byte 2 says return address or not, bytes 3 to 6 are the
// row's unwind word (packed, forwarded, or taken as the record at RVA 0); the rest is the image.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "engine/unwind/windows/arm64/rule.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mixstack::unwind::windows;
  if (size < 7) return 0;
  std::uint32_t word = 0;
  std::memcpy(&word, data + 3, 4);
  const auto image = std::as_bytes(std::span(data, size)).subspan(7);
  const MappedUnwindData source(image);
  const std::uint32_t pc = 0x1000u + 4u * (data[0] + data[1] * 256u);
  for (const std::uint32_t unwind_data : {word, 0u}) {
    const Arm64Location where{{0x1000, 0, unwind_data}, pc, (data[2] & 1) != 0};
    const auto rule = arm64_rule(source, where);
    if (rule && rule->count > mixstack::unwind::UnwindRule::kMaxRules) std::abort();
    (void)arm64_function_length(source, where.function);
  }
  return 0;
}
