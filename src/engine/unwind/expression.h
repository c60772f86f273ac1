// DWARF expressions as they occur in call frame information (DWARF 5 sections 2.5 and 6.4.2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/unwind/rule.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

/// The inputs of an expression.
struct ExpressionContext {
  const Registers* registers = nullptr;  ///< of the frame whose caller is sought, pc included
  const StackView* stack = nullptr;      ///< reads outside the stack go to its fallback
  std::uint64_t load_bias = 0;           ///< added to link-time addresses (DW_OP_addr)
  std::optional<std::uint64_t> initial;  ///< pushed before the start: the CFA for register rules
  std::optional<std::uint64_t> cfa;      ///< for DW_OP_call_frame_cfa, which some producers use against the standard
};

/// Limits on hostile expressions. The steps are shared by all expressions of one frame.
inline constexpr unsigned kExpressionStackLimit = 64;
inline constexpr unsigned kExpressionStepLimit = 1000;

/// Evaluates to the value on top of the stack at the end. Errors: `malformed` (bad operand, empty stack, division by
/// zero), `limit_exceeded`, `unsupported` (an operation without meaning here), `register_unknown`, `unreadable_memory`.
/// Each operation executed decrements `steps`. Signal-safe if the stack's fallback is.
[[nodiscard]] Result<std::uint64_t> evaluate_expression(std::span<const std::byte> expression,
                                                        const ExpressionContext& context, unsigned& steps);

/// Expressions of fixed shape, as compilers, linkers and C libraries emit them, which a plain rule can hold.
struct ExpressionPattern {
  enum class Kind : std::uint8_t {
    none,
    register_offset,        ///< reg + offset
    deref_register_offset,  ///< *(reg + offset)
    plt,                    ///< sp + offset + ((pc & 15) >= plt_step ? 8 : 0)
  };
  Kind kind = Kind::none;
  std::uint8_t reg = 0;
  std::uint8_t plt_step = 0;
  std::int64_t offset = 0;
};
[[nodiscard]] ExpressionPattern match_expression(Arch arch, std::span<const std::byte> expression);

}  // namespace mixstack::unwind
