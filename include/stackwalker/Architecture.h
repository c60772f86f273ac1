// Borrowed type of the StackwalkerAPI: the CPU of a target process (manual, class ProcessState).
#pragma once

#include "dyntypes.h"

namespace Dyninst {

/// Values as in Dyninst's Architecture.h: the highest byte of a register's number is its CPU.
typedef enum {
  Arch_none = 0x00000000,
  Arch_x86 = 0x14000000,
  Arch_x86_64 = 0x18000000,
  Arch_ppc32 = 0x24000000,
  Arch_ppc64 = 0x28000000,
  Arch_aarch32 = 0x44000000,
  Arch_aarch64 = 0x48000000
} Architecture;

/// Bytes of a pointer; 0 for Arch_none.
[[nodiscard]] constexpr unsigned getArchAddressWidth(Architecture arch) {
  switch (arch) {
    case Arch_x86:
    case Arch_ppc32:
    case Arch_aarch32:
      return 4;
    case Arch_x86_64:
    case Arch_ppc64:
    case Arch_aarch64:
      return 8;
    case Arch_none:
      break;
  }
  return 0;
}

}  // namespace Dyninst
