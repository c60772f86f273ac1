// One stop of a live process.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mixstack/target.h"
#include "process/kernel/register_set.h"
#include "process/live/guest_memory.h"
#include "process/live/last_capture.h"
#include "process/live/mapped_code.h"
#include "process/live/proc_dir.h"
#include "process/live/root_reads.h"
#include "process/live/stack_copies.h"
#include "process/live/thread_registers.h"
#include "process/live/thread_stopper.h"

namespace mixstack::process {

/// Takes one capture. Everything that can be done before or after the stop is: the list of threads, their names and
/// states (but for those of an idle process, see `CaptureRequest::names`) and the mappings are read before, buffers are
/// allocated and touched before; the stop itself is one pass each of interrupt, wait, GETREGSET, bulk read and detach.
/// Used once: `prepare`, then `stop` in a tracer, then `finish`.
///
/// The instant captured is the one at which all threads stand still: all registers are read then, and each thread's
/// stack before that thread goes on. Threads that were at work are copied first, with the runtime's roots, and released
/// at once; those that wait in a system call stand until theirs are copied, which they cannot notice. (The price: a
/// released thread may write a word into the stack of a standing one, though never a return address or saved register.
/// `LiveOptions::hold_all` keeps all until everything is copied.)
///
/// Threads that do not stop in time, because a busy machine or a CPU quota does not let them run, do not delay the
/// others: each is captured when it stops, as a capture of its own.
class LiveCapture {
 public:
  /// Reads the list of mappings as it is now.
  using ReadRegions = std::function<Result<std::vector<Region>>()>;

  /// Borrows all. `last`: left by earlier captures, and updated by this one.
  LiveCapture(const ProcDir& proc, const GuestMemory& memory, const TargetInfo& info, const CaptureRequest& request,
              bool hold_all, ReadRegions read_regions, LastCapture& last);
  ~LiveCapture();
  LiveCapture(const LiveCapture&) = delete;
  LiveCapture& operator=(const LiveCapture&) = delete;

  [[nodiscard]] Result<void> prepare();
  /// In a tracer. If it does not return, because the tracer was killed, `finish` answers what was copied before.
  void stop(Tracer& tracer);
  [[nodiscard]] Result<Capture> finish();
  /// No thread could be seized, for want of permission.
  [[nodiscard]] bool is_refused() const { return error_.code == ErrorCode::permission_denied; }

 private:
  using Clock = std::chrono::steady_clock;
  using RegionList = GuestMemory::RegionList;
  struct Instant;
  struct Slot {
    ThreadId tid = 0;
    ThreadStat stat;
    int name_file = -1;  ///< that tells the rest of it, see ThreadStats
    Result<RegisterSet> registers = fail(ErrorCode::no_such_thread);
    const Instant* instant = nullptr;
    std::size_t copy = 0;
    std::int64_t syscall = -1;      ///< of a thread that did not stop
    std::uint64_t kernel_task = 0;  ///< it is one, and not to be stopped
  };

  // before the stop
  [[nodiscard]] Result<void> find_mappings();
  [[nodiscard]] Result<void> list_threads();
  [[nodiscard]] bool list_as_before();
  void add_slots(const std::vector<ThreadId>& tids, std::vector<std::optional<ThreadStat>> stats);
  void find_kernel_tasks();
  void look_at_stacks() const;
  void leave_their_cpus() const;
  void bring_back_stacks() const;
  [[nodiscard]] std::size_t estimate_usual_stack() const;
  [[nodiscard]] bool were_just_listed();
  [[nodiscard]] Result<void> make_room();
  void expect_roots();
  // in the stop
  void seize(std::size_t begin, std::size_t end);
  void read_names(std::size_t begin);
  [[nodiscard]] Result<void> seize_all();
  void read_registers();
  void add_copies(Instant& instant, bool of_running);
  void follow_mappings(Instant& instant);
  void copy_and_release();
  void stop_in_groups();
  void copy_group(Instant& instant);
  void take_group(Instant& instant, std::vector<Clock::time_point>& since);
  void take_late(Clock::time_point begin);
  void take_late_ones_that_stand(Clock::time_point begin);
  [[nodiscard]] bool all_wait_uninterruptibly();
  void note_missing();
  // after the stop
  [[nodiscard]] ThreadCapture describe(const StoppedThread& t, Slot& slot) const;
  void hand_over(Instant& instant, Capture& capture) const;
  void leave_for_the_next();

  const ProcDir& proc_;
  const GuestMemory& memory_;
  const TargetInfo& info_;
  const CaptureRequest& request_;
  const bool hold_all_;
  LastCapture& last_;
  const ReadRegions read_regions_;
  MappedCodeQuery code_query_;
  MappedSizes sizes_;              ///< before that list was read
  RegionList regions_;             ///< as before the stop
  std::vector<MappedCode> code_;   ///< of `regions_`
  std::vector<MappedCode> found_;  ///< in the stop
  bool is_code_told_ = false;      ///< in the stop, by the kernel
  bool is_idle_ = false;           ///< the process, until now
  bool is_one_group_ = false;      ///< of threads that are taken in groups: all stood still at once
  RootReads roots_;

  Tracer* tracer_ = nullptr;
  std::optional<ThreadStopper> stopper_;
  std::vector<ThreadId> listed_;      // before the stop
  std::vector<Slot> slots_;           // parallel to the stopper's threads
  std::vector<VectorBytes> vectors_;  // parallel to them, if wanted
  std::vector<std::unique_ptr<Instant>> instants_;
  std::optional<std::uint64_t> pac_mask_;  ///< of the first thread that stood still
  std::chrono::nanoseconds pause_{0}, held_{0};
  Error error_;
};

}  // namespace mixstack::process
