// An instruction's effect on the stack frame: all that prologue analysis must know of a CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mixstack::unwind::prologue {

enum class Effect : std::uint8_t {
  none,                 ///< nothing that concerns the frame
  save,                 ///< registers stored at `base` + `offset`
  restore,              ///< registers loaded from `base` + `offset`
  set_address,          ///< `regs[0]` = `base` + `offset`
  set_constant,         ///< `regs[0]` = `offset`
  insert_constant,      ///< the 16 bits of `regs[0]` at `shift` = `offset`
  move_sp_by_register,  ///< sp += or -= (offset 1 or -1) `regs[0]`
  leave,                ///< sp = fp, then restore fp
  lose_register,        ///< `regs[0]` holds something unknown
  call,
  jump,    ///< to `target`, when known
  branch,  ///< conditional, to `target`
  end,     ///< return: the code behind it is reached from elsewhere, as behind a trap
  trap,
  sign_lr,
  unsign_lr,
};

inline constexpr std::uint8_t kNoRegister = 0xff;

/// One instruction. Registers are DWARF numbers; `base` is sp, fp or a register whose content does not matter.
struct Instruction {
  unsigned length = 0;  ///< in bytes; 0: not decoded
  Effect effect = Effect::none;
  std::uint8_t regs[2] = {kNoRegister, kNoRegister};  ///< 8 bytes each, the second behind the first
  std::uint8_t base = kNoRegister;
  std::uint8_t shift = 0;
  std::int64_t offset = 0;
  /// Added to sp before (pushes) and after (pops) the access.
  std::int64_t sp_before = 0;
  std::int64_t sp_after = 0;
  /// Target of a jump, branch or call, or the address that it makes; relative to the instruction's first byte.
  std::optional<std::int64_t> target;
  /// A jump in the form that ABIs require at the end of an epilogue (x86-64: with REX.W), not used otherwise.
  bool is_tail_call = false;
  /// AArch64's adrp: `regs[0]` becomes the address of the 4 KiB page that lies `offset` from the instruction's own.
  bool makes_page = false;
  bool is_padding = false;  ///< as compilers put between functions
};

}  // namespace mixstack::unwind::prologue
