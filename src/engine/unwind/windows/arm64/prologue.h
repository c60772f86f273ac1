// Executes ARM64 unwind codes, of prologues and epilogues alike, on a RuleBuilder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/unwind/rule_builder.h"
#include "engine/unwind/windows/arm64/unwind_info.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows::arm64 {

/// How control left for the caller.
enum class Undone : std::uint8_t {
  at_call,       ///< lr holds the return address, sp is the caller's
  interrupted,   ///< the same, but the caller was interrupted there (clear_unwound_to_call)
  sp_in_memory,  ///< pc recorded as saved, the caller's sp lies at `sp_slot`
};
struct Outcome {
  Undone undone = Undone::at_call;
  bool lr_is_signed = false;
  bool lr_is_kept = false;  ///< a machine frame: lr is still the caller's own
  Place sp_slot;
};

/// Executes `codes` from byte `index` on, the first `skip` instructions' codes left out.
[[nodiscard]] Result<Outcome> undo_codes(std::span<const std::byte> codes, std::size_t index, std::uint32_t skip,
                                         RuleBuilder& builder);

}  // namespace mixstack::unwind::windows::arm64
