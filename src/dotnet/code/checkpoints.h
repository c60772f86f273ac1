// The explicit Frames of a thread as the mixed walk wants them: witnesses of transitions and places to resume.
#pragma once

#include <vector>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/code/threads.h"
#include "walk_core/stepper.h"

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

/// No place to resume lies below the sp at which the thread stands: that part of its stack is dead.
void forget_dead_places(CheckpointList& list, const ManagedThread& thread, Address sp);

}  // namespace mixstack::dotnet
