// The unwind rule of practically all compiled code, complete in 32 bytes: CFA = register + offset, and the preserved
// registers saved less than 64 KiB below the CFA. The hot loop executes these; everything else is interpreted.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/arch/cpu.h"
#include "engine/unwind/rule.h"
#include "mixstack/registers.h"

namespace mixstack::unwind {

enum class CompactKind : std::uint8_t {
  none,             ///< no unwind information covers the address
  interpret,        ///< there is a row, but it does not fit: execute the FDE
  register_offset,  ///< CFA = cfa_register + cfa_offset
  plt,              ///< CfaKind::plt
  end_of_stack,     ///< the return address is undefined
};

/// As many slots as any CPU needs: one for each preserved register, one for the return address. A multiple of four, so
/// that no byte of a rule is padding.
inline constexpr std::size_t kMostSlots = [] {
  int most = 0;
  for (const Arch arch : kArchs)
    if (arch::cpu(arch).is_walked) most = std::max(most, std::popcount(arch::cpu(arch).preserved.platform_unix) + 1);
  return static_cast<std::size_t>(most + 3) / 4 * 4;
}();

/// Interned per image. Slot i tells where the i-th register of `CompactLayout` is saved: at CFA - slot; 0: nowhere.
struct CompactRule {
  static constexpr std::uint8_t kRaSigned = 1;

  std::int32_t cfa_offset = 0;
  std::uint8_t cfa_register = 0;
  CompactKind kind = CompactKind::none;
  std::uint8_t flags = 0;
  std::uint8_t plt_step = 0;
  std::array<std::uint16_t, kMostSlots> slots{};
  // Derived from the above when the rule is interned.
  std::uint64_t saved = 0;  ///< registers with a slot, as in Registers::known()
  std::uint32_t depth = 0;  ///< bytes below the CFA that hold all slots
  StepperId origin = StepperId::none;

  [[nodiscard]] bool same_rule(const CompactRule& o) const {
    return cfa_offset == o.cfa_offset && cfa_register == o.cfa_register && kind == o.kind && flags == o.flags &&
           plt_step == o.plt_step && slots == o.slots && origin == o.origin;
  }
};

inline constexpr CompactRule kNoCompactRule{};
inline constexpr CompactRule kInterpretedRule{.kind = CompactKind::interpret};

/// The register of each slot. CPUs whose stacks are not walked have no compact rules.
struct CompactLayout {
  std::array<std::uint8_t, kMostSlots> preserved{};    ///< of slots 0 to ra - 1: the frame pointer, then by number
  std::array<std::int8_t, Registers::kMax> slot_of{};  ///< of each register, -1: it has none
  unsigned ra = 0;                                     ///< the slot of the return address, the last one used
  std::uint8_t ra_column = 0;
  /// The slot that the return address always has, as `call` pushed it; 0: any, or still in the link register.
  std::uint16_t pushed_ra = 0;

  static constexpr unsigned kFp = 0;  ///< the slot of the frame pointer

  constexpr CompactLayout() { slot_of.fill(-1); }
  constexpr explicit CompactLayout(const arch::Cpu& cpu) : CompactLayout() {
    if (!cpu.is_walked) return;
    add(cpu.registers.fp);
    for (unsigned reg = 0; reg < cpu.registers.count; reg++)
      if ((cpu.preserved.platform_unix >> reg & 1) != 0 && reg != cpu.registers.fp) add(reg);
    ra_column = static_cast<std::uint8_t>(cpu.ra_column);
    slot_of[ra_column] = static_cast<std::int8_t>(ra);
    if (!cpu.has_link_register()) pushed_ra = static_cast<std::uint16_t>(cpu.registers.pointer_size);
  }

 private:
  constexpr void add(unsigned reg) {
    preserved[ra] = static_cast<std::uint8_t>(reg);
    slot_of[reg] = static_cast<std::int8_t>(ra++);
  }
};

inline constexpr auto kCompactLayouts = arch::per_cpu([](const arch::Cpu& cpu) { return CompactLayout(cpu); });

/// Fills in the derived fields.
void derive(CompactRule& rule, Arch arch);

/// Hashes the fields that `same_rule` compares.
[[nodiscard]] std::uint64_t hash_of(const CompactRule& rule);

/// The compact form of a rule, derived fields included. Nothing: the rule needs more room, is less than certain, or is
/// a signal frame's.
[[nodiscard]] std::optional<CompactRule> compact(const UnwindRule& rule, Arch arch);

/// The general form of a compact rule (not of kind `none` or `interpret`).
[[nodiscard]] UnwindRule expand(const CompactRule& rule, Arch arch);

}  // namespace mixstack::unwind
