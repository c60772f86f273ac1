// The mixed walk of a live process with a DAC in the place of the descriptor: what the session does, in the smallest
// form.
#pragma once

#include <memory>
#include <vector>

#include "base/memory/cached_memory.h"
#include "base/memory/overlay_memory.h"
#include "dotnet/dac/dac_runtime.h"
#include "engine/images/module_map.h"
#include "engine/walk/chain_walker.h"
#include "engine/walk/code_steppers.h"
#include "engine/walk/native_stepper.h"
#include "engine/walk/newborn_stepper.h"
#include "engine/walk/undescribed_stepper.h"

namespace mixstack::test {

/// Everything borrowed.
class DacWalk {
 public:
  DacWalk(const Capture& capture, const MemoryReader& live, const images::ModuleMap& modules,
          std::span<const Region> regions, dotnet::dac::DacRuntime& runtime, walk::WalkOptions limits)
      : overlay_(capture, &live),
        only_copied_(capture, nullptr),
        runtime_(runtime),
        native_(modules, capture.arch, 0, std::make_shared<unwind::UnwindTables>()),
        undescribed_(executable(regions), overlay_,
                     [this](Frame& f) {
                       return native_.claim(f) || (runtime_.stepper().claim(f) && f.kind == FrameKind::managed);
                     }),
        newborn_(overlay_, native_),
        trampoline_(overlay_),
        frame_pointer_(overlay_, 0),
        walker_({{&native_, &runtime.stepper(), &undescribed_},
                 {&newborn_, &trampoline_, &undescribed_, &frame_pointer_},
                 {}},
                limits) {
    runtime_.begin_capture(capture, overlay_);
  }

  [[nodiscard]] Trace walk(const ThreadCapture& thread) {
    walk::ThreadInput input;
    input.tid = thread.tid;
    input.registers = thread.registers;
    input.stack = {thread.stack.base, thread.stack.bytes.data(), thread.stack.bytes.size(), &only_copied_};
    input.stack_range = thread.stack.range();
    input.stack_truncated = thread.stack_truncated;
    dotnet::CheckpointList list;
    for (const auto& managed : runtime_.threads()) {
      if (managed.os_id != thread.ns_tid) continue;
      list = runtime_.checkpoints(managed);
      input.checkpoints = list.checkpoints;
      return walker_.walk(input);
    }
    return walker_.walk(input);
  }

 private:
  static std::vector<AddressRange> executable(std::span<const Region> regions) {
    std::vector<AddressRange> ranges;
    for (const Region& r : regions)
      if (r.executable) ranges.push_back(r.range);
    return ranges;
  }

  memory::OverlayMemory overlay_, only_copied_;
  dotnet::dac::DacRuntime& runtime_;
  walk::NativeStepper native_;
  walk::UndescribedStepper undescribed_;
  walk::NewbornStepper newborn_;
  walk::SignalTrampolineStepper trampoline_;
  walk::FramePointerStepper frame_pointer_;
  walk::ChainWalker walker_;
};

}  // namespace mixstack::test
