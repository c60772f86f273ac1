// The stacks of threads that stand still, as a capture.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "process/debugger/program.h"
#include "process/kernel/register_set.h"
#include "process/live/root_reads.h"
#include "process/live/stack_copies.h"
#include "process/live/thread_registers.h"

namespace mixstack::process {

/// Copies what a CaptureRequest asks for while somebody else holds the threads. Used once.
class HeldCapture {
 public:
  /// Borrows all.
  HeldCapture(const Program& program, const CaptureRequest& request)
      : program_(program),
        request_(request),
        roots_(program.memory, program.memory.in_stop()),
        copies_(program.memory, program.info, request, room_) {}

  /// While the process still runs: asks for all that may be asked before. `threads` are those known so far.
  void prepare(const std::vector<ThreadId>& threads);
  /// While the threads stand still. `threads` may have some that are new; `read_registers` reads a thread's registers,
  /// or tells why it cannot.
  void copy(const std::vector<ThreadId>& threads, const std::function<Result<RegisterSet>(ThreadId)>& read_registers);
  /// Afterwards.
  [[nodiscard]] Capture take();

 private:
  struct Slot {
    ThreadCapture thread;
    Result<RegisterSet> registers = fail(ErrorCode::no_such_thread);
    std::size_t copy = 0;
    std::unique_ptr<VectorBytes> vectors;  ///< if wanted
  };
  void add(ThreadId tid);
  [[nodiscard]] ThreadCapture describe(Slot& slot) const;

  const Program& program_;
  const CaptureRequest& request_;
  RootReads roots_;
  StackRoom room_;
  StackCopies copies_;
  std::shared_ptr<const std::vector<Region>> regions_;
  std::vector<Slot> slots_;
  std::optional<std::uint64_t> pac_mask_;  ///< of the first thread that was read
};

}  // namespace mixstack::process
