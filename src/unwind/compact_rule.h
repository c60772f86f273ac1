// What an unwind rule is for practically all compiled code, in 32 bytes that say everything: CFA = register + offset,
// the preserved registers saved less than 64 KiB below the CFA. The hot loop executes these; everything else is
// interpreted.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "mixstack/registers.h"
#include "unwind/rule.h"

namespace mixstack::unwind {

enum class CompactKind : std::uint8_t {
  none,             ///< no unwind information covers the address
  interpret,        ///< there is a row, but it does not fit: execute the FDE
  register_offset,  ///< CFA = cfa_register + cfa_offset
  plt,              ///< CfaKind::plt
  end_of_stack,     ///< the return address is undefined
};

/// Interned per image. Slot i tells where the i-th register of `CompactLayout` is saved: at CFA - slot; 0: nowhere.
struct CompactRule {
  static constexpr std::size_t kSlots = 12;
  static constexpr std::uint8_t kRaSigned = 1;

  std::int32_t cfa_offset = 0;
  std::uint8_t cfa_register = 0;
  CompactKind kind = CompactKind::none;
  std::uint8_t flags = 0;
  std::uint8_t plt_step = 0;
  std::array<std::uint16_t, kSlots> slots{};
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

/// Which register each slot belongs to. The last slot used is the return address.
template <Arch>
struct CompactLayout;

template <>
struct CompactLayout<Arch::x86_64> {
  static constexpr std::array<std::uint8_t, 6> kPreserved{x86_64_reg::rbp, x86_64_reg::rbx, x86_64_reg::r12,
                                                          x86_64_reg::r13, x86_64_reg::r14, x86_64_reg::r15};
  static constexpr unsigned kFp = 0;  ///< index in kPreserved
  static constexpr unsigned kRa = 6;  ///< its slot is always 8: `call` pushed it
  static constexpr unsigned kRaColumn = x86_64_reg::rip;
};

template <>
struct CompactLayout<Arch::aarch64> {
  static constexpr std::array<std::uint8_t, 11> kPreserved{29, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
  static constexpr unsigned kFp = 0;
  static constexpr unsigned kRa = 11;  ///< 0: still in the link register
  static constexpr unsigned kRaColumn = aarch64_reg::lr;
};

/// The slot of a register, or -1.
[[nodiscard]] constexpr int compact_slot(Arch arch, std::uint64_t reg) {
  const auto find = [reg]<class L>(L) {
    for (std::size_t i = 0; i < L::kPreserved.size(); i++)
      if (L::kPreserved[i] == reg) return static_cast<int>(i);
    return reg == L::kRaColumn ? static_cast<int>(L::kRa) : -1;
  };
  if (arch == Arch::x86_64) return find(CompactLayout<Arch::x86_64>{});
  if (arch == Arch::aarch64) return find(CompactLayout<Arch::aarch64>{});
  return -1;
}

/// Fills in the derived fields.
void derive(CompactRule& rule, Arch arch);

/// Of what `same_rule` compares.
[[nodiscard]] std::uint64_t hash_of(const CompactRule& rule);

/// The compact form of a rule that has one, derived fields included: nothing where it needs more, is less than certain
/// or leads out of a signal handler.
[[nodiscard]] std::optional<CompactRule> compact(const UnwindRule& rule, Arch arch);

/// The same rule in the general form (of a kind that is a rule: not `none`, not `interpret`).
[[nodiscard]] UnwindRule expand(const CompactRule& rule, Arch arch);

}  // namespace mixstack::unwind
