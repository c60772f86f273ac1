// The frame of a jitted method, from its code: decoded once from its prologue, kept in few bytes, applied to any pc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/unwind/compact_rule.h"
#include "engine/unwind/rule.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

/// The frame that a prologue makes. The rule tells where the CFA is, and where the frame pointer, the return address
/// and the other preserved registers are saved. Plain data.
struct MethodFrame {
  CompactRule rule = kInterpretedRule;  ///< holds after the prologue, except in epilogues
  std::uint32_t size = 0;               ///< bytes from sp to the CFA there
  std::uint16_t prologue = 0;           ///< bytes of code
};

/// Longest prologue, in bytes.
inline constexpr std::size_t kMostMethodPrologue = 512;
/// Longest epilogue, and the most bytes in it before an instruction that matters.
inline constexpr std::size_t kMostEpilogue = 96, kBeforeHere = 8;

/// The frame of the method or funclet whose first instruction is `code[0]`; `code` may end anywhere.
///
/// Decodes the straight line of code that the method begins with, the call of a stack probe included. That is enough
/// for compilers that emit prologues in one piece, like CoreCLR's; for other code (shrink-wrapped, written by hand) use
/// `prologue_rule`, which needs all of it. Errors: `unsupported_cpu`, `malformed` (nothing can be decoded),
/// `no_unwind_info` (no compact rule describes the frame). Signal-safe: allocates nothing.
[[nodiscard]] Result<MethodFrame> method_frame(Arch arch, std::span<const std::byte> code);

/// A place in a method whose frame is known.
struct MethodPlace {
  std::span<const std::byte> start;   ///< the method's code from its first instruction: as long as the prologue
  std::span<const std::byte> before;  ///< up to kBeforeHere bytes right before the pc
  std::span<const std::byte> here;    ///< from the pc on: kMostEpilogue bytes, fewer where the method ends
  std::uint64_t offset = 0;           ///< of the pc
  std::uint64_t size = 0;             ///< of the method: jumps out of it end epilogues
  bool is_return_address = false;
};

/// The rule at the place: in the prologue by executing its instructions up to there; in an epilogue by its remainder;
/// else the frame's own. Trust and origin `prologue`. Errors: `malformed` (not at the start of an instruction),
/// `no_unwind_info` (a call by code that saved no return address), `unsupported_cpu`. Signal-safe.
[[nodiscard]] Result<UnwindRule> rule_in_method(Arch arch, const MethodFrame& frame, const MethodPlace& place);

/// Start of the next prologue at or behind `from`: that of a funclet, which follows its method's code. Nothing: there
/// is none, or code cannot be decoded. Looks at all of `code`.
[[nodiscard]] std::optional<std::size_t> next_prologue(Arch arch, std::span<const std::byte> code, std::size_t from);

/// Whether two producers describe the same frame: the same registers saved at the same distance from the same CFA.
/// `known` may be based on sp if the decoded one is based on the frame pointer.
[[nodiscard]] bool is_same_frame(Arch arch, const MethodFrame& decoded, const CompactRule& known);

}  // namespace mixstack::unwind
