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
/// interrupt, wait, GETREGSET, bulk read and detach. Used once, by a tracer thread.
///
/// The instant captured is the one at which all threads stand still: all registers are read then, and each thread's
/// stack before that thread goes on. Threads that were at work are copied first, with the runtime's roots, and released
/// at once; those that wait in a system call stand until theirs are copied, which they cannot notice. (What is given
/// up: a word that a released thread writes into the stack of a standing one. No return address or saved register is
/// written so. `LiveOptions::hold_all` keeps all until everything is copied.)
class LiveCapture {
 public:
  LiveCapture(const ProcDir& proc, const memory::ProcessMemory& memory, const TargetInfo& info,
              const CaptureRequest& request, bool hold_all)
      : proc_(proc),
        memory_(memory),
        info_(info),
        request_(request),
        hold_all_(hold_all),
        roots_(memory),
        left_budget_(request.stack_byte_budget) {}

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
  [[nodiscard]] std::size_t usual_stack(const std::vector<Region>& regions) const;
  [[nodiscard]] Result<void> make_room(const std::vector<Region>& regions);
  [[nodiscard]] Result<void> seize_all(ThreadStopper& stopper) const;
  // in the stop
  void read_registers(ThreadStopper& stopper);
  void list_copies(bool of_running, std::span<const StoppedThread> threads);
  void copy_and_release(ThreadStopper& stopper, const std::vector<Region>& regions);
  void copy_stacks(std::size_t begin, std::size_t end, const std::vector<Region>& regions);
  void copy_left_stacks(std::size_t begin, std::size_t end, const std::vector<Region>& regions);
  [[nodiscard]] std::span<std::byte> room_for(std::size_t size);
  // after the stop
  void give_back_unused_room();
  void describe_threads(ThreadStopper& stopper, Capture& capture);
  [[nodiscard]] ThreadCapture describe(const StoppedThread& t, std::size_t index);

  const ProcDir& proc_;
  const memory::ProcessMemory& memory_;
  const TargetInfo& info_;
  const CaptureRequest& request_;
  bool hold_all_;
  RootReads roots_;

  std::vector<Slot> slots_;  // parallel to the stopper's threads
  std::vector<StackCopy> copies_;
  std::vector<std::size_t> copy_slots_;
  std::vector<memory::RangeRead> reads_;
  std::vector<std::size_t> order_;
  std::vector<memory::RangeRead> left_reads_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::size_t room_ = 0, touched_ = 0, used_ = 0;
  std::size_t left_budget_;  ///< for stacks that threads have left, beyond their initial bytes
};

}  // namespace mixstack::target
