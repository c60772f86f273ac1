// Undoes AMD64 prologues, and epilogues described by version 2, by executing unwind codes on a RuleBuilder.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/unwind/rule_builder.h"
#include "engine/unwind/windows/amd64/unwind_info.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows::amd64 {

/// Where the builder's sp is afterwards.
enum class Undone : std::uint8_t {
  at_return_address,  ///< at the return address
  machine_frame,      ///< at the rip of a hardware frame (rip, cs, rflags, rsp, ss); rip already recorded
};

/// Executes the codes whose instructions had run at `pc`, chained records included.
[[nodiscard]] Result<Undone> undo_prologue(const UnwindInfo& info, const RuntimeFunction& function, std::uint32_t pc,
                                           const UnwindDataSource& data, RuleBuilder& builder);

/// Version 2: how far into an epilogue `pc` is; nothing when it is in none. `function_end` is an RVA.
[[nodiscard]] std::optional<std::uint32_t> epilogue_offset(const UnwindInfo& info, std::uint32_t function_end,
                                                           std::uint32_t pc);

/// Version 2: executes the pops that remain `offset` bytes into an epilogue.
[[nodiscard]] Result<Undone> undo_epilogue(const UnwindInfo& info, std::uint32_t offset, const UnwindDataSource& data,
                                           RuleBuilder& builder);

}  // namespace mixstack::unwind::windows::amd64
