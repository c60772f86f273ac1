// The ARM half of the explicit Frames' mechanisms. Pure functions over bytes, layouts and registers.
#pragma once

#include "dotnet/code/frames/frame_registers.h"

namespace mixstack::dotnet::frames::arm {

/// HijackFrame: registers and stack pointer from the HijackArgs at `address`, whose bytes are `args`.
/// HijackArgs names the registers itself; the stack pointer is behind it, padded to 8 bytes.
[[nodiscard]] Result<void> apply_hijack_args(const Layouts& layouts, Address address, std::span<const std::byte> args,
                                             Registers& registers);
/// InlinedCallFrame: registers beyond ip, sp and fp. `frame` is the Frame's bytes.
[[nodiscard]] Result<void> apply_inlined_call_extra(const Layouts& layouts, std::span<const std::byte> frame,
                                                    Registers& registers);
/// TransitionFrame: registers that the TransitionBlock holds beyond ip, sp and callee-saved ones.
[[nodiscard]] Result<void> apply_transition_extra(const Layouts& layouts, std::span<const std::byte> block,
                                                  Registers& registers);
/// FuncEvalFrame: registers taken from the stored context.
[[nodiscard]] Registers apply_func_eval(const Registers& before, const Registers& stored);
/// TailCallFrame at `address`: ip, sp and callee-saved registers.
[[nodiscard]] Result<void> apply_tail_call(const Layouts& layouts, Address address, std::span<const std::byte> frame,
                                           Registers& registers);

inline constexpr FrameRegisters kFrameRegisters{.apply_hijack_args = apply_hijack_args,
                                                .apply_inlined_call_extra = apply_inlined_call_extra,
                                                .apply_transition_extra = apply_transition_extra,
                                                .apply_func_eval = apply_func_eval,
                                                .apply_tail_call = apply_tail_call,
                                                .needs_whole_inlined_call = true};

}  // namespace mixstack::dotnet::frames::arm
