// The stacks of threads that stand still, as a capture.
#pragma once

#include <functional>
#include <vector>

#include "target/debug/program.h"
#include "target/live/root_reads.h"
#include "target/live/stack_plan.h"
#include "target/register_set.h"

namespace mixstack::target {

/// Copies what a CaptureRequest asks for while somebody else holds the threads. Used once.
class HeldCapture {
 public:
  /// Borrows all.
  HeldCapture(const Program& program, const CaptureRequest& request)
      : program_(program), request_(request), roots_(program.memory) {}

  /// While the process still runs: asks for all that may be asked before. `threads` are those known so far.
  void prepare(const std::vector<ThreadId>& threads);
  /// While the threads stand still. `threads` may have some that are new; `read_registers` says what is in a thread's
  /// registers, or why it is not known.
  void copy(const std::vector<ThreadId>& threads, const std::function<Result<RegisterSet>(ThreadId)>& read_registers);
  /// Afterwards.
  [[nodiscard]] Capture take();

 private:
  struct Slot {
    ThreadCapture thread;
    Result<RegisterSet> registers = fail(ErrorCode::no_such_thread);
  };
  void add(ThreadId tid);
  void plan(const std::function<Result<RegisterSet>(ThreadId)>& read_registers);
  [[nodiscard]] std::span<std::byte> room_for(std::size_t size);
  void copy_left_stacks();
  [[nodiscard]] ThreadCapture describe(Slot& slot, std::size_t copy);

  const Program& program_;
  const CaptureRequest& request_;
  RootReads roots_;
  std::vector<Region> regions_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> copied_;  // the slot of each copy
  std::vector<StackCopy> copies_;
  std::vector<memory::RangeRead> reads_, left_reads_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
};

}  // namespace mixstack::target
