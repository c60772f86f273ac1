// x86-64 instructions as prologue analysis sees them.
#pragma once

#include <cstddef>
#include <span>

#include "engine/unwind/prologue/instruction.h"

namespace mixstack::unwind::prologue::x86_64 {

/// Length in bytes of the instruction at the start of `code`, its ModRM and displacement found; 0 when it is cut off or
/// no instruction of 64-bit mode. Source: Intel SDM volume 2, appendix A opcode maps.
struct Layout {
  unsigned length = 0;
  unsigned opcode_at = 0;  ///< offset of the opcode's last byte
  unsigned map = 0;        ///< 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A; 4 and more: VEX and EVEX
  unsigned rex = 0;
  bool has_modrm = false;
  bool operand16 = false;
  bool plain_address = true;  ///< no prefix that cuts an address to 32 bits or adds the base of FS or GS
};
[[nodiscard]] Layout layout(std::span<const std::byte> code);
/// Whether an instruction that is no move, push, pop or the like, as `decode` follows them, writes to rsp.
[[nodiscard]] bool writes_rsp(std::span<const std::byte> code, const Layout& where);

[[nodiscard]] Instruction decode(std::span<const std::byte> code);

}  // namespace mixstack::unwind::prologue::x86_64
