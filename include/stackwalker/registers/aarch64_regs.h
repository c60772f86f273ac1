// Registers of AArch64 (DWARF for the Arm 64-bit Architecture).
#pragma once

#include "MachRegister.h"

namespace Dyninst::aarch64 {

// As plain numbers (for switch), one more than the DWARF number so that none is 0.
enum : std::int32_t {
  ix0 = static_cast<std::int32_t>(Arch_aarch64) + 1,
  ix1 = static_cast<std::int32_t>(Arch_aarch64) + 2,
  ix2 = static_cast<std::int32_t>(Arch_aarch64) + 3,
  ix3 = static_cast<std::int32_t>(Arch_aarch64) + 4,
  ix4 = static_cast<std::int32_t>(Arch_aarch64) + 5,
  ix5 = static_cast<std::int32_t>(Arch_aarch64) + 6,
  ix6 = static_cast<std::int32_t>(Arch_aarch64) + 7,
  ix7 = static_cast<std::int32_t>(Arch_aarch64) + 8,
  ix8 = static_cast<std::int32_t>(Arch_aarch64) + 9,
  ix9 = static_cast<std::int32_t>(Arch_aarch64) + 10,
  ix10 = static_cast<std::int32_t>(Arch_aarch64) + 11,
  ix11 = static_cast<std::int32_t>(Arch_aarch64) + 12,
  ix12 = static_cast<std::int32_t>(Arch_aarch64) + 13,
  ix13 = static_cast<std::int32_t>(Arch_aarch64) + 14,
  ix14 = static_cast<std::int32_t>(Arch_aarch64) + 15,
  ix15 = static_cast<std::int32_t>(Arch_aarch64) + 16,
  ix16 = static_cast<std::int32_t>(Arch_aarch64) + 17,
  ix17 = static_cast<std::int32_t>(Arch_aarch64) + 18,
  ix18 = static_cast<std::int32_t>(Arch_aarch64) + 19,
  ix19 = static_cast<std::int32_t>(Arch_aarch64) + 20,
  ix20 = static_cast<std::int32_t>(Arch_aarch64) + 21,
  ix21 = static_cast<std::int32_t>(Arch_aarch64) + 22,
  ix22 = static_cast<std::int32_t>(Arch_aarch64) + 23,
  ix23 = static_cast<std::int32_t>(Arch_aarch64) + 24,
  ix24 = static_cast<std::int32_t>(Arch_aarch64) + 25,
  ix25 = static_cast<std::int32_t>(Arch_aarch64) + 26,
  ix26 = static_cast<std::int32_t>(Arch_aarch64) + 27,
  ix27 = static_cast<std::int32_t>(Arch_aarch64) + 28,
  ix28 = static_cast<std::int32_t>(Arch_aarch64) + 29,
  ix29 = static_cast<std::int32_t>(Arch_aarch64) + 30,
  ix30 = static_cast<std::int32_t>(Arch_aarch64) + 31,
  isp = static_cast<std::int32_t>(Arch_aarch64) + 32,
  ipc = static_cast<std::int32_t>(Arch_aarch64) + 33,
};

inline constexpr MachRegister x0(ix0);
inline constexpr MachRegister x1(ix1);
inline constexpr MachRegister x2(ix2);
inline constexpr MachRegister x3(ix3);
inline constexpr MachRegister x4(ix4);
inline constexpr MachRegister x5(ix5);
inline constexpr MachRegister x6(ix6);
inline constexpr MachRegister x7(ix7);
inline constexpr MachRegister x8(ix8);
inline constexpr MachRegister x9(ix9);
inline constexpr MachRegister x10(ix10);
inline constexpr MachRegister x11(ix11);
inline constexpr MachRegister x12(ix12);
inline constexpr MachRegister x13(ix13);
inline constexpr MachRegister x14(ix14);
inline constexpr MachRegister x15(ix15);
inline constexpr MachRegister x16(ix16);
inline constexpr MachRegister x17(ix17);
inline constexpr MachRegister x18(ix18);
inline constexpr MachRegister x19(ix19);
inline constexpr MachRegister x20(ix20);
inline constexpr MachRegister x21(ix21);
inline constexpr MachRegister x22(ix22);
inline constexpr MachRegister x23(ix23);
inline constexpr MachRegister x24(ix24);
inline constexpr MachRegister x25(ix25);
inline constexpr MachRegister x26(ix26);
inline constexpr MachRegister x27(ix27);
inline constexpr MachRegister x28(ix28);
inline constexpr MachRegister x29(ix29);
inline constexpr MachRegister x30(ix30);
inline constexpr MachRegister sp(isp);
inline constexpr MachRegister pc(ipc);

}  // namespace Dyninst::aarch64
