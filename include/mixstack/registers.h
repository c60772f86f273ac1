// A CPU's registers, as data. Registers of any target CPU are handled on any host. All of it is signal-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "mixstack/address.h"

namespace mixstack {

/// The CPU of a *target*; the host's own is never assumed.
enum class Arch : std::uint8_t { unknown, x86_64, aarch64, x86, arm };
/// All but `unknown`.
inline constexpr std::array kArchs{Arch::x86_64, Arch::aarch64, Arch::x86, Arch::arm};

/// Register numbers are the DWARF numbers of the CPU's psABI, with the pc at the number given here. x86-64: System V
/// AMD64 psABI figure 3.36. AArch64: "DWARF for the Arm 64-bit Architecture", table of registers. x86: Intel386 psABI,
/// DWARF register number mapping. Arm: "DWARF for the Arm Architecture".
namespace x86_64_reg {
enum : unsigned { rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip, count };
}
namespace aarch64_reg {
enum : unsigned {
  x0 = 0,
  x19 = 19,
  x28 = 28,
  x29 = 29,
  fp = 29,
  x30 = 30,
  lr = 30,
  sp = 31,
  pc = 32,
  ra_sign_state = 34,
  vg = 35,  ///< number of 64-bit words in an SVE vector; 46 in the psABI
  count = 36
};
}
namespace x86_reg {
enum : unsigned { eax, ecx, edx, ebx, esp, ebp, esi, edi, eip, count };
}
namespace arm_reg {
enum : unsigned { r0 = 0, r4 = 4, r7 = 7, r9 = 9, r11 = 11, r12 = 12, sp = 13, lr = 14, pc = 15, count = 16 };
}

/// Numbers of the registers that every walk needs, the number of registers, and the size of a pointer in bytes.
struct ArchRegisters {
  unsigned pc, sp, fp, count;
  unsigned pointer_size;
};
[[nodiscard]] constexpr ArchRegisters arch_registers(Arch a) {
  switch (a) {
    case Arch::aarch64:
      return {aarch64_reg::pc, aarch64_reg::sp, aarch64_reg::fp, aarch64_reg::count, 8};
    case Arch::x86:
      return {x86_reg::eip, x86_reg::esp, x86_reg::ebp, x86_reg::count, 4};
    case Arch::arm:
      return {arm_reg::pc, arm_reg::sp, arm_reg::r11, arm_reg::count, 4};
    case Arch::x86_64:
    case Arch::unknown:
      break;
  }
  return {x86_64_reg::rip, x86_64_reg::rsp, x86_64_reg::rbp, x86_64_reg::count, 8};
}

/// The integer registers of one frame, and which of their values are known. A value type of about 300 bytes: inner
/// loops keep one and update it in place.
class Registers {
 public:
  /// The largest register count of any CPU.
  static constexpr unsigned kMax = [] {
    unsigned most = 0;
    for (const Arch arch : kArchs) most = arch_registers(arch).count > most ? arch_registers(arch).count : most;
    return most;
  }();
  // A psABI with higher numbers (ppc64le: lr is 65) would need numbers of our own, like the pc here.
  static_assert(kMax < 64, "sets of registers are 64 bits, of which the last is no register");

  constexpr Registers() = default;
  constexpr explicit Registers(Arch arch) : arch_(arch) {}

  [[nodiscard]] constexpr Arch arch() const { return arch_; }
  /// The value; nothing: not known. A `reg` beyond the CPU's count is never known.
  [[nodiscard]] constexpr std::optional<std::uint64_t> get(unsigned reg) const {
    if (!is_known(reg)) return std::nullopt;
    return values_[reg];
  }
  [[nodiscard]] constexpr bool is_known(unsigned reg) const { return reg < kMax && (known_ >> reg & 1) != 0; }
  constexpr void set(unsigned reg, std::uint64_t value) {
    if (reg >= kMax) return;
    values_[reg] = value;
    known_ |= std::uint64_t{1} << reg;
  }
  constexpr void forget(unsigned reg) {
    if (reg >= kMax) return;
    values_[reg] = 0;
    known_ &= ~(std::uint64_t{1} << reg);
  }
  /// Keeps only the registers whose bit is set in `mask`.
  constexpr void keep(std::uint64_t mask) {
    for (unsigned i = 0; i < kMax; i++)
      if ((mask >> i & 1) == 0) values_[i] = 0;
    known_ &= mask;
  }
  /// One bit per register, lowest bit register 0.
  [[nodiscard]] constexpr std::uint64_t known() const { return known_; }
  /// The value, or 0 if it is not known. `reg` must be below kMax.
  [[nodiscard]] constexpr std::uint64_t value_or_zero(unsigned reg) const { return values_[reg]; }

  /// For inner loops that track the known bits themselves: sets a value without its known bit (`reg` below kMax), or
  /// all known bits at once. The caller must keep unknown registers at zero.
  constexpr void store(unsigned reg, std::uint64_t value) { values_[reg] = value; }
  constexpr void set_known(std::uint64_t mask) { known_ = mask; }
  [[nodiscard]] constexpr const std::uint64_t* data() const { return values_.data(); }

  [[nodiscard]] constexpr Address pc() const { return values_[arch_registers(arch_).pc]; }
  [[nodiscard]] constexpr Address sp() const { return values_[arch_registers(arch_).sp]; }
  [[nodiscard]] constexpr Address fp() const { return values_[arch_registers(arch_).fp]; }
  constexpr void set_pc(Address a) { set(arch_registers(arch_).pc, a); }
  constexpr void set_sp(Address a) { set(arch_registers(arch_).sp, a); }
  constexpr void set_fp(Address a) { set(arch_registers(arch_).fp, a); }
  friend constexpr bool operator==(const Registers&, const Registers&) = default;

 private:
  std::array<std::uint64_t, kMax> values_{};
  std::uint64_t known_ = 0;
  Arch arch_ = Arch::unknown;
};

}  // namespace mixstack
