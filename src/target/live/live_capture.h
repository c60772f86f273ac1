// One stop of a live process.
#pragma once

#include <optional>
#include <vector>

#include "memory/process_memory.h"
#include "mixstack/target.h"
#include "target/live/proc_dir.h"
#include "target/live/root_reads.h"
#include "target/live/stack_plan.h"
#include "target/live/thread_stopper.h"
#include "target/register_set.h"

namespace mixstack::target {

/// Takes one capture. Everything that can be done before or after the stop is: the list of threads, their names and
/// states and the mappings are read before, buffers are allocated and touched before, what remains is one pass each of
/// interrupt, wait, GETREGSET, one bulk read and detach. Used once, by a tracer thread.
class LiveCapture {
 public:
  LiveCapture(const ProcDir& proc, const memory::ProcessMemory& memory, const TargetInfo& info,
              const CaptureRequest& request)
      : proc_(proc), memory_(memory), info_(info), request_(request), roots_(memory) {}

  /// Must run in a tracer thread. `regions` is the list read just before.
  [[nodiscard]] Result<Capture> take(TraceeList& tracees, const std::vector<Region>& regions);

 private:
  struct Slot {
    ThreadId tid = 0;
    ThreadStat stat;
    Result<RegisterSet> registers = fail(ErrorCode::no_such_thread);
    std::size_t copy = kNoCopy;
  };
  static constexpr std::size_t kNoCopy = ~std::size_t{0};

  // before the stop
  [[nodiscard]] Result<void> list_threads();
  [[nodiscard]] Result<void> make_room();
  [[nodiscard]] Result<void> seize_all(ThreadStopper& stopper) const;
  // in the stop
  void read_registers(ThreadStopper& stopper);
  void copy_stacks(const std::vector<Region>& regions);
  void copy_left_stacks(const std::vector<Region>& regions);
  [[nodiscard]] std::span<std::byte> room_for(std::size_t size);
  // after the stop
  void give_back_unused_room();
  void describe_threads(ThreadStopper& stopper, Capture& capture);
  [[nodiscard]] ThreadCapture describe(const StoppedThread& t, std::size_t index);

  const ProcDir& proc_;
  const memory::ProcessMemory& memory_;
  const TargetInfo& info_;
  const CaptureRequest& request_;
  RootReads roots_;

  std::vector<Slot> slots_;  // parallel to the stopper's threads
  std::vector<StackCopy> copies_;
  std::vector<std::size_t> copy_slots_;
  std::vector<memory::RangeRead> reads_;
  std::vector<std::size_t> order_;
  std::vector<memory::RangeRead> left_reads_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::size_t room_ = 0, touched_ = 0, used_ = 0;
};

}  // namespace mixstack::target
