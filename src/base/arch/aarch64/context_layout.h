// CONTEXT of ARM64. Source: dotnet/runtime src/coreclr/pal/inc/pal.h (HOST_ARM64) and cDAC ARM64Context.cs.
#pragma once

#include <array>

#include "base/arch/context.h"

namespace mixstack::arch::aarch64 {

/// x0 at 8, then every register at 8 bytes distance: x1..x28, fp, lr, sp, pc (DWARF numbers 0..32 in order).
inline constexpr std::array<ContextRegister, 33> kContextRegisters = [] {
  std::array<ContextRegister, 33> all{};
  for (unsigned i = 0; i < all.size(); i++) {
    all[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint16_t>(8 + 8 * i)};
  }
  return all;
}();
inline constexpr ContextLayout kContextLayout{.size = 0x390,
                                              .flags_offset = 0,
                                              .register_size = 8,
                                              .flags_full = 0x400007,
                                              .flags_all = 0x40000f,
                                              .flag_xstate = 0x20,
                                              .registers = kContextRegisters};

}  // namespace mixstack::arch::aarch64
