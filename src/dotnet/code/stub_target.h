// The P/Invoke method that an interop stub on a stack was called for.
#pragma once

#include <span>

#include "dotnet/code/code_manager.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::dotnet {

/// The P/Invoke method that the stub in `frame` (managed, `sp` set) was called for; 0 when the frame is no such stub or
/// nothing proves the method. All methods with the same signature share one stub (SF_IsSharedStub in
/// src/coreclr/vm/dllimport.h), so the stub itself cannot tell. Its InlinedCallFrame, which lies between the frame's sp
/// and its caller's, can: by the hidden argument the stub got, kept behind the Frame from the stub's prologue on
/// (JIT_InitPInvokeFrame), and by the datum while the call is active. One must be there, and what is there must agree.
[[nodiscard]] Address stub_target(CodeManager& code, const Frame& frame, Address caller_sp,
                                  std::span<const walk::Checkpoint> checkpoints);

}  // namespace mixstack::dotnet
