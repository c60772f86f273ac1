// Registers and stacks of the threads of a process that are on no processor, without stopping anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/kernel/register_set.h"

namespace mixstack::bpf {

struct IteratorOptions {
  std::uint32_t stack_bytes = 16 << 10;  ///< of a thread, at most (1 MiB); 0: none
  std::size_t room = 8 << 20;            ///< for all copies of a round; threads beyond it are in the next one
  std::uint32_t kernel_frames = 0;       ///< where in the kernel a thread is, so many calls at most (127); 0: not asked
  /// Threads that are ready, and would run if this round did not need their processor, count as `on_cpu`: for callers
  /// that sample running threads in another way. (Kernels without scheduler statistics cannot tell.)
  bool leaves_displaced = false;
};

/// The result of a round for one thread.
enum class Look : std::uint8_t {
  fresh,      ///< registers and stack of one moment
  unchanged,  ///< has not run since it was `fresh` last, which is still right
  on_cpu,     ///< was on a processor, or is taken for it (`leaves_displaced`): its registers are there, and nobody else
              ///< sees them
  torn,       ///< went on a processor while it was looked at
  no_room,    ///< the round was full
  ending,
  stale,  ///< only of `check`: has run since it was `fresh`, or never was
};

struct ThreadState {
  ThreadId tid = 0;
  ThreadId ns_tid = 0;  ///< in its own pid namespace
  Look look = Look::ending;
  char kernel_state = '?';  ///< as in /proc: R (on a processor or ready to go on one), S, D, T, t, Z
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
  std::chrono::nanoseconds run_time{0};
  // Only with `fresh`:
  std::string_view comm;
  MemorySlice stack;  ///< from the red zone up, to the end of its mapping or `stack_bytes`
  Error stack_error;  ///< why `stack` is empty though bytes were asked for
  Address thread_pointer = 0;
  std::int64_t system_call = -1;    ///< where the registers do not tell it
  std::span<const Address> kernel;  ///< innermost first
  std::span<const std::byte> register_bytes;

  /// Decodes them. Errors: unsupported_cpu (a thread in 32-bit mode), invalid_argument (not `fresh`).
  [[nodiscard]] Result<process::RegisterSet> registers() const;
  /// Unchanged as long as the thread has not run.
  [[nodiscard]] std::uint64_t switches() const { return voluntary_switches + involuntary_switches; }
};

/// A program in the kernel that looks at every thread of one process when it is asked to. The process does not notice:
/// no thread of it is stopped, woken or made to run.
///
/// Movable, used by one thread at a time. The result of `read` points into the iterator, and is valid until the next
/// call.
class TaskIterator {
 public:
  /// `pid` as we see it. Errors: unsupported (a kernel before 5.18, one without a description of its types, or a
  /// mixstack built without BPF), permission_denied, limit_exceeded (memory), no_such_process, invalid_argument,
  /// io_error. `explain_bpf_refusal` (bpf_refusal.h) has words for them.
  [[nodiscard]] static Result<TaskIterator> open(std::uint32_t pid, const IteratorOptions& options = {});
  TaskIterator(TaskIterator&&) noexcept;
  TaskIterator& operator=(TaskIterator&&) noexcept;
  ~TaskIterator();

  /// One round. A thread that has not run since its last copy costs no copy. Threads that are born or end meanwhile may
  /// be missing, and in kernels before 6.7 others with them. Errors: no_such_process, limit_exceeded (no room even for
  /// records without a copy), io_error. Interrupted calls are made again.
  [[nodiscard]] Result<std::span<const ThreadState>> read();
  struct Moved {
    std::span<const ThreadState> threads;
    /// They are all threads; otherwise threads not listed are waiting, have not run since the last round, and are as
    /// they were then.
    bool is_all = true;
  };
  /// As `read`, but only for threads that may have run since the last round or are ready to, if the kernel can find
  /// them more cheaply than all (Linux 6.7 on). They may be a part of these: call `read_more` until it answers none.
  [[nodiscard]] Result<Moved> read_moved();
  /// More threads of the same round. The answer before becomes invalid.
  [[nodiscard]] Result<std::span<const ThreadState>> read_more();
  /// Asks only which threads have run since the copy that `read` made last: `unchanged`, or not. Nothing is copied, and
  /// the next `read` is not affected.
  [[nodiscard]] Result<std::span<const ThreadState>> check();

 private:
  struct Implementation;
  explicit TaskIterator(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

/// Whether this mixstack was built with the program.
[[nodiscard]] bool is_built_in();

}  // namespace mixstack::bpf
