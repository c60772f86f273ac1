// How long unwind data is, without the personality routine's address.
#pragma once

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::frames::x86_64 {

/// UNWIND_INFO: a header, unwind codes of two bytes each.
[[nodiscard]] inline Result<std::uint32_t> unwind_data_size(const MemoryReader& memory, Address unwind) {
  constexpr std::uint32_t kHeader = 4, kCount = 2, kCode = 2, kAlignment = 4;
  const auto count = memory.read<std::uint8_t>(unwind + kCount);
  if (!count) return fail(count.error());
  const std::uint32_t size = kHeader + *count * kCode;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace mixstack::dotnet::frames::x86_64
