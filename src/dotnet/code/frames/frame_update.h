// The registers of the code behind an explicit Frame, by the eight mechanisms of the StackWalk contract.
#pragma once

#include <memory>
#include <vector>

#include "dotnet/code/frames/frame_chain.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet {

/// A context changed by a Frame. Only registers that the mechanism defines are known afterwards.
struct FrameUpdate {
  bool changed = false;             ///< false: a Frame without context, or an InlinedCallFrame without an active call
  bool interrupted = false;         ///< pc was interrupted (fault, suspension, function evaluation), not calling
  bool whole = false;               ///< a stored CONTEXT replaced everything
  std::uint32_t context_flags = 0;  ///< of a stored CONTEXT that replaced everything, XSTATE cleared where the
                                    ///< contract says so; 0 otherwise
  Registers registers;
  std::shared_ptr<const std::vector<std::byte>> stored;  ///< that CONTEXT as it lies there; null: none
};

/// Whether Frames of this type can change a context.
[[nodiscard]] bool restores_context(FrameType type);

/// Applies the Frame to `before`. Works for every CPU of Layouts::arch, whatever the host. Errors:
/// `field_unavailable` (the layout lacks what the mechanism needs), `unreadable_memory`, `malformed`,
/// `unsupported_cpu`. Sources: "Capital 'F' Frame Handling" in docs/design/datacontracts/StackWalk.md,
/// src/coreclr/vm/frames.h, FrameHandling/*.cs in dotnet/runtime.
[[nodiscard]] Result<FrameUpdate> update_from_frame(const RuntimeMemory& memory, const FrameRecord& frame,
                                                    const Registers& before);

/// The address the Frame returns to, 0 when it has none (no active call, or a Frame without context).
[[nodiscard]] Result<Address> frame_return_address(const RuntimeMemory& memory, const FrameRecord& frame);

/// Contract StackWalk, GetMethodDescPtr(framePtr): the MethodDesc of a Frame, 0 when it has none. A value from a
/// supplied field (supplement.h) only counts when it is a MethodDesc. `field_unavailable` when this runtime does not
/// tell where it lies.
[[nodiscard]] Result<Address> frame_method(const RuntimeMemory& memory, const FrameRecord& frame);

/// Whether an InlinedCallFrame is in a call. An inactive one is linked but says nothing of registers.
[[nodiscard]] Result<bool> has_active_call(const RuntimeMemory& memory, const FrameRecord& inlined_call_frame);

}  // namespace mixstack::dotnet
