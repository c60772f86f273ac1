// Registers of x86-64 (System V AMD64 psABI, figure 3.36).
#pragma once

#include "MachRegister.h"

namespace Dyninst::x86_64 {

// As plain numbers (for switch), one more than the DWARF number so that none is 0.
enum : std::int32_t {
  irax = static_cast<std::int32_t>(Arch_x86_64) + 1,
  irdx = static_cast<std::int32_t>(Arch_x86_64) + 2,
  ircx = static_cast<std::int32_t>(Arch_x86_64) + 3,
  irbx = static_cast<std::int32_t>(Arch_x86_64) + 4,
  irsi = static_cast<std::int32_t>(Arch_x86_64) + 5,
  irdi = static_cast<std::int32_t>(Arch_x86_64) + 6,
  irbp = static_cast<std::int32_t>(Arch_x86_64) + 7,
  irsp = static_cast<std::int32_t>(Arch_x86_64) + 8,
  ir8 = static_cast<std::int32_t>(Arch_x86_64) + 9,
  ir9 = static_cast<std::int32_t>(Arch_x86_64) + 10,
  ir10 = static_cast<std::int32_t>(Arch_x86_64) + 11,
  ir11 = static_cast<std::int32_t>(Arch_x86_64) + 12,
  ir12 = static_cast<std::int32_t>(Arch_x86_64) + 13,
  ir13 = static_cast<std::int32_t>(Arch_x86_64) + 14,
  ir14 = static_cast<std::int32_t>(Arch_x86_64) + 15,
  ir15 = static_cast<std::int32_t>(Arch_x86_64) + 16,
  irip = static_cast<std::int32_t>(Arch_x86_64) + 17,
};

inline constexpr MachRegister rax(irax);
inline constexpr MachRegister rdx(irdx);
inline constexpr MachRegister rcx(ircx);
inline constexpr MachRegister rbx(irbx);
inline constexpr MachRegister rsi(irsi);
inline constexpr MachRegister rdi(irdi);
inline constexpr MachRegister rbp(irbp);
inline constexpr MachRegister rsp(irsp);
inline constexpr MachRegister r8(ir8);
inline constexpr MachRegister r9(ir9);
inline constexpr MachRegister r10(ir10);
inline constexpr MachRegister r11(ir11);
inline constexpr MachRegister r12(ir12);
inline constexpr MachRegister r13(ir13);
inline constexpr MachRegister r14(ir14);
inline constexpr MachRegister r15(ir15);
inline constexpr MachRegister rip(irip);

}  // namespace Dyninst::x86_64
