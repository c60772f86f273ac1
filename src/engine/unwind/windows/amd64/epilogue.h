// Recognises an AMD64 epilogue from the instructions at the pc, for unwind information of version 1, which does not
// say where epilogues are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/unwind/rule_builder.h"
#include "engine/unwind/windows/amd64/unwind_info.h"

namespace mixstack::unwind::windows::amd64 {

/// No epilogue the formats allow is longer: lea, fifteen two-byte pops, a prefix and a jump.
inline constexpr std::size_t kEpilogueBytes = 48;

/// The end of the sequence at the pc.
struct EpilogueEnd {
  /// Target RVA of a direct jump, which ends an epilogue only when it leaves the function.
  std::optional<std::uint32_t> jump_target;
};

/// Reads `[add rsp, n | lea rsp, [frame register + n]] pop* (ret | jmp)` at `code` and moves `builder` to the point of
/// the return. Nothing, with `builder` in an undefined state, when the bytes are no epilogue or end too early.
/// `pc` is the RVA of `code`, `frame_register` the Windows number (0: none).
[[nodiscard]] std::optional<EpilogueEnd> match_epilogue(std::span<const std::byte> code, std::uint32_t pc,
                                                        unsigned frame_register, RuleBuilder& builder);

}  // namespace mixstack::unwind::windows::amd64
