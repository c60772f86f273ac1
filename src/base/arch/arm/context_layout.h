// CONTEXT of 32-bit ARM. Source: dotnet/runtime src/coreclr/pal/inc/pal.h (HOST_ARM) and cDAC ARMContext.cs.
#pragma once

#include <array>

#include "base/arch/context.h"

namespace mixstack::arch::arm {

/// r0 at 4, then every register at 4 bytes distance: r1..r12, sp, lr, pc (DWARF numbers 0..15 in order).
inline constexpr std::array<ContextRegister, 16> kContextRegisters = [] {
  std::array<ContextRegister, 16> all{};
  for (unsigned i = 0; i < all.size(); i++) {
    all[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint16_t>(4 + 4 * i)};
  }
  return all;
}();
inline constexpr ContextLayout kContextLayout{.size = 0x1a0,
                                              .flags_offset = 0,
                                              .register_size = 4,
                                              .flags_full = 0x200007,
                                              .flags_all = 0x20000f,
                                              .flag_xstate = 0,
                                              .registers = kContextRegisters};

}  // namespace mixstack::arch::arm
