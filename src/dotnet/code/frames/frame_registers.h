// The CPU-specific parts of the explicit Frames' mechanisms, chosen by the target's CPU.
#pragma once

#include <span>

#include "dotnet/contracts/layouts.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::dotnet::frames {

/// One CPU's functions (frames/<cpu>/frame_registers.h says what each does).
struct FrameRegisters {
  Result<void> (*apply_hijack_args)(const Layouts&, Address, std::span<const std::byte>, Registers&);
  Result<void> (*apply_inlined_call_extra)(const Layouts&, std::span<const std::byte>, Registers&);
  Result<void> (*apply_transition_extra)(const Layouts&, std::span<const std::byte>, Registers&);
  Registers (*apply_func_eval)(const Registers&, const Registers&);
  Result<void> (*apply_tail_call)(const Layouts&, Address, std::span<const std::byte>, Registers&);
  bool needs_whole_inlined_call = false;  ///< an InlinedCallFrame without a size says too little
  bool func_eval_replaces_all = true;     ///< a FuncEvalFrame's context, else it updates what it knows
  /// Else the FaultingExceptionFrame has a layout of its own there, which no descriptor tells.
  bool has_common_faulting_frame_on_windows = true;
};

/// nullptr for a CPU without these functions.
[[nodiscard]] const FrameRegisters* frame_registers(Arch arch);

}  // namespace mixstack::dotnet::frames
