// The explicit Frames of a thread as the mixed walk wants them: witnesses of transitions and places to resume.
#pragma once

#include <vector>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/code/threads.h"
#include "engine/walk_core/witness.h"

namespace mixstack::dotnet {

struct CheckpointList {
  std::vector<walk::Checkpoint> checkpoints;  ///< ascending addresses
  Error error;                                ///< why the list is not whole
};

/// Reads the thread's Frames from the capture (`code.memory()`). Only those that restore a context whose pc is managed,
/// at a place of this thread's stack where it can be, are places to resume; the others are listed for display. At most
/// `most`. With `methods` the Frames' MethodDescs are looked up too.
[[nodiscard]] CheckpointList read_checkpoints(CodeManager& code, const ManagedThread& thread, bool methods,
                                              std::size_t most = kMaxFrames);

/// The Frames that a sample's stack has at `sp` and above. `sample` reads the sample's copied bytes, and elsewhere the
/// thread's memory as it is now. `thread` is read anew, so its newest Frame may be younger than the sample: the links
/// from there to the sample's stack are followed. Copied bytes that are no Frame were none at the sample either; they
/// end the list.
[[nodiscard]] CheckpointList read_sampled_checkpoints(CodeManager& code, const RuntimeMemory& sample,
                                                      const ManagedThread& thread, Address sp, bool methods);

/// Resumes nowhere below `sp`, where the thread stands: that part of its stack is dead.
void forget_dead_places(CheckpointList& list, const ManagedThread& thread, Address sp);

/// The same for a walk of addresses alone, which needs no contexts: all Frames of the thread, from its copied bytes,
/// into `out`. False where the list is not a simple one (a Frame other than InlinedCallFrame that restores a context,
/// an unknown or a handler's stack, a list that leaves the copied bytes or does not ascend); then call
/// `read_checkpoints`. Allocates only to make `out` larger.
[[nodiscard]] bool read_marks(CodeManager& code, const ManagedThread& thread, const StackView& stack, Address sp,
                              std::vector<walk::Mark>& out);

}  // namespace mixstack::dotnet
