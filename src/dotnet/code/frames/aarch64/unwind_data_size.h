// How long unwind data is, without the personality routine's address.
#pragma once

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::frames::aarch64 {

/// .xdata: a header of one word or two, a word for each epilogue unless there is one and the header tells it, codes.
[[nodiscard]] inline Result<std::uint32_t> unwind_data_size(const MemoryReader& memory, Address unwind) {
  constexpr std::uint32_t kWord = 4, kOneEpilogue = 1u << 21;
  const auto header = memory.read<std::uint32_t>(unwind);
  if (!header) return fail(header.error());
  std::uint32_t words = 1, epilogues = *header >> 22 & 0x1f, codes = *header >> 27;
  if (epilogues == 0 && codes == 0) {
    const auto second = memory.read<std::uint32_t>(unwind + kWord);
    if (!second) return fail(second.error());
    epilogues = *second & 0xffff;
    codes = *second >> 16 & 0xff;
    words++;
  }
  if ((*header & kOneEpilogue) == 0) words += epilogues;
  return (words + codes) * kWord;
}

}  // namespace mixstack::dotnet::frames::aarch64
