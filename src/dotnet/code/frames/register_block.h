// Structures of saved registers (CalleeSavedRegisters, ArgumentRegisters, HijackArgs) as bytes.
#pragma once

#include <span>

#include "base/system/byte_cursor.h"
#include "dotnet/contracts/layouts.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::dotnet::frames {

/// Copies every register of the block into `registers`. `truncated` when the bytes end inside, `field_unavailable`
/// for a block that names no register.
[[nodiscard]] inline Result<void> copy_block(const RegisterBlockLayout& block, unsigned pointer_size,
                                             std::span<const std::byte> bytes, Registers& registers) {
  if (block.count == 0) return fail(ErrorCode::field_unavailable);
  for (unsigned i = 0; i < block.count; i++) {
    const auto& e = block.entries[i];
    if (pointer_size == 8) {
      const auto v = base::load_at<std::uint64_t>(bytes, e.offset);
      if (!v) return fail(ErrorCode::truncated, e.offset);
      registers.set(e.reg, *v);
    } else {
      const auto v = base::load_at<std::uint32_t>(bytes, e.offset);
      if (!v) return fail(ErrorCode::truncated, e.offset);
      registers.set(e.reg, *v);
    }
  }
  return {};
}

/// One bit per register the block names.
[[nodiscard]] inline std::uint64_t block_mask(const RegisterBlockLayout& block) {
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < block.count; i++) mask |= std::uint64_t{1} << block.entries[i].reg;
  return mask;
}

}  // namespace mixstack::dotnet::frames
