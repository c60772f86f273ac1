// The one value between unwind formats and their execution: how to get from a frame to its caller. Producers
// (eh_frame, debug_frame, Windows codes, prologue, frame pointer, signal frame) never touch registers; `apply` never
// knows a format.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mixstack/frame.h"
#include "mixstack/registers.h"

namespace mixstack::unwind {

/// How the CFA (the caller's sp, and the base of the register rules) is computed.
enum class CfaKind : std::uint8_t {
  undefined,              ///< no rule
  register_offset,        ///< reg + offset
  deref_register_offset,  ///< *(reg + offset), e.g. the saved sp of a signal frame
  plt,                    ///< the expression of every x86-64 PLT: rsp + offset + ((rip & 15) >= plt_step ? 8 : 0)
  expression,             ///< DWARF expression number `cfa_offset` of the rule's pool
};

enum class RegisterRuleKind : std::uint8_t {
  same_value,          ///< as in the callee (DW_CFA_same_value)
  undefined,           ///< not recoverable: forget it
  at_cfa_offset,       ///< saved at CFA + value
  is_cfa_offset,       ///< *is* CFA + value (val_offset)
  in_register,         ///< held by callee register `base`
  at_register_offset,  ///< saved at callee register `base` + value
  at_expression,       ///< saved at the address that expression `value` gives
  is_expression,       ///< is what expression `value` gives
};

struct RegisterRule {
  std::uint8_t reg = 0;
  RegisterRuleKind kind = RegisterRuleKind::same_value;
  std::uint8_t base = 0;
  std::uint8_t reserved = 0;
  std::int32_t value = 0;
  friend bool operator==(const RegisterRule&, const RegisterRule&) = default;
};

/// DWARF expressions of one image, addressed by number. Borrowed by rules; owned by the image's unwind table.
class ExpressionPool {
 public:
  virtual ~ExpressionPool() = default;
  [[nodiscard]] virtual std::span<const std::byte> expression(std::uint32_t number) const = 0;
};

/// A register without a rule keeps its value if it is callee-saved by the ABI and becomes unknown otherwise;
/// the return address without a rule is an error except where `ra_register` says it is live in a register.
struct UnwindRule {
  static constexpr unsigned kMaxRules = Registers::kMax - 1;  // all but the pc

  CfaKind cfa_kind = CfaKind::undefined;
  std::uint8_t cfa_register = 0;
  std::uint8_t plt_step = 0;
  std::uint8_t count = 0;  ///< of `rules`
  std::int32_t cfa_offset = 0;
  std::uint8_t ra_register = 0;  ///< column of the return address (16 on x86-64, 30 on AArch64)
  bool is_signal_frame = false;  ///< the caller was interrupted: its pc is exact, all registers are restored
  bool is_end_of_stack = false;  ///< return address undefined: outermost frame
  bool ra_is_signed = false;     ///< AArch64 pointer authentication: strip with the mask
  StepperId origin = StepperId::none;
  Trust trust = Trust::certain;
  const ExpressionPool* pool = nullptr;
  std::uint64_t load_bias = 0;  ///< of the image the expressions belong to: added to the operand of DW_OP_addr
  std::array<RegisterRule, kMaxRules> rules{};
};

}  // namespace mixstack::unwind
