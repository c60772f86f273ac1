// The tracer: everything that happens in its process, and only there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/scoped_fd.h"
#include "target/debug/debug_record.h"
#include "target/debug/event_queue.h"
#include "target/debug/seize_watch.h"

namespace mixstack::target {

/// One thread does all: requests come one after the other from `DebugEngine`, reports of the kernel between them and
/// while they wait. Reports are taken in batches before any is dealt with, so that no process can keep us from another.
/// Not thread-safe; created anywhere, used in the tracer's process.
class DebugTracer {
 public:
  using Clock = std::chrono::steady_clock;
  using RecordPointer = std::shared_ptr<DebugRecord>;
  using MakeHandle = std::function<std::shared_ptr<DebuggedProcess>(const RecordPointer&)>;

  DebugTracer(EventQueue& events, MakeHandle make_handle) : events_(events), make_handle_(std::move(make_handle)) {}

  // The loop (debug_tracer.cc)
  [[nodiscard]] Result<void> set_up(pid_t host);
  /// Waits for reports or for `wake` to become readable, then deals with the reports.
  void serve(int wake);
  /// Lets everything go.
  void release_all();
  /// Drops what is known. When the tracer has ended, by anybody.
  void forget_all();

  // Beginnings (debug_begin.cc); as documented by DebugSession
  [[nodiscard]] Result<RecordPointer> attach(std::uint32_t pid, const DebugOptions& options);
  [[nodiscard]] Result<RecordPointer> launch(const LaunchRequest& request);
  [[nodiscard]] RecordPointer find(std::uint32_t pid) const;
  [[nodiscard]] std::vector<RecordPointer> records() const;

  // Wishes (debug_control.cc); as documented by DebuggedProcess
  [[nodiscard]] Result<void> pause(DebugRecord& record, Clock::time_point deadline);
  [[nodiscard]] Result<void> resume(DebugRecord& record);
  [[nodiscard]] Result<void> pause(DebugRecord& record, ThreadId tid, Clock::time_point deadline);
  [[nodiscard]] Result<void> resume(DebugRecord& record, ThreadId tid);
  [[nodiscard]] Result<void> detach(DebugRecord& record, bool leave_stopped);
  [[nodiscard]] Result<void> kill(DebugRecord& record);
  /// Holds threads (empty: all). With `must_stop`, at the deadline nothing is held and the answer is an error.
  [[nodiscard]] Result<std::uint64_t> add_guard(DebugRecord& record, std::span<const ThreadId> tids,
                                                Clock::time_point deadline, bool must_stop);
  void remove_guard(DebugRecord& record, std::uint64_t id);

  // Looks (debug_control.cc)
  [[nodiscard]] static Result<void> check(const DebugRecord& record);
  [[nodiscard]] Result<std::vector<ThreadId>> threads(DebugRecord& record);
  [[nodiscard]] Result<RegisterSet> registers(DebugRecord& record, ThreadId tid) const;
  [[nodiscard]] Result<std::vector<LoadedLibrary>> libraries(DebugRecord& record);
  [[nodiscard]] Result<Address> library_trap(DebugRecord& record);
  /// `process_changed` when an exec has made another program of it than the one of `generation`.
  [[nodiscard]] Result<Capture> capture(DebugRecord& record, std::uint64_t generation, const CaptureRequest& request);

 private:
  using Report = TraceeReport;

  // debug_tracer.cc
  void deal_with_reports();
  void wait_for_reports(std::chrono::milliseconds at_most, int wake);
  [[nodiscard]] bool wait_until(const std::function<bool()>& done, Clock::time_point deadline);
  [[nodiscard]] bool wait_until_settled(DebugRecord& record, Clock::time_point deadline);
  void on_report(const Report& report);
  void on_end(const Report& report);
  void end_process(DebugRecord& record, int status);
  void release_forgotten();
  void look_after_leaving();
  [[nodiscard]] bool has_loose_ends() const;

  // debug_stops.cc
  void on_stop(DebugRecord& record, Tracee& t, int status);
  [[nodiscard]] bool on_startup(DebugRecord& record, Tracee& t, int status);
  void on_signal(DebugRecord& record, Tracee& t, int signal);
  void on_new_task(DebugRecord& record, const Tracee& parent, int event);
  void on_new_process(DebugRecord& record, const Tracee& parent, ThreadId pid, ChildKind kind);
  void on_exec(DebugRecord& record, Tracee& t);
  void check_libraries(DebugRecord& record);
  void emit(DebugRecord& record, DebugEvent event);
  void hold_at(DebugRecord& record, DebugEventKind kind);

  // debug_control.cc
  void settle(DebugRecord& record, Tracee& t);
  void settle_all(DebugRecord& record);
  void go_on(Tracee& t);
  void interrupt_wanted(DebugRecord& record);
  void interrupt_all(DebugRecord& record);
  void hold_all(DebugRecord& record);
  void report_if_still(DebugRecord& record);
  void find_ended_main_thread(DebugRecord& record);
  void let_go(DebugRecord& record, Tracee& t);
  void leave(DebugRecord& record);
  void remove_if_left(DebugRecord& record);

  // debug_begin.cc
  [[nodiscard]] Result<RecordPointer> attach_once(std::uint32_t pid, const DebugOptions& options);
  [[nodiscard]] bool wait_until_left(std::uint32_t pid);
  [[nodiscard]] Result<void> seize_all(DebugRecord& record);
  [[nodiscard]] Result<void> catch_up_with_exec(DebugRecord& record);
  [[nodiscard]] bool is_ours(std::uint32_t pid, ThreadId tid) const;
  void lose(DebugRecord& record, ThreadId tid);
  [[nodiscard]] Result<bool> seize(DebugRecord& record, ThreadId tid);
  Tracee& add_thread(DebugRecord& record, ThreadId tid);
  [[nodiscard]] DebugRecord* adopt(ThreadId tid);
  void add_record(const RecordPointer& record);
  void remove_record(DebugRecord& record);
  [[nodiscard]] RecordPointer make_record(std::uint32_t pid, std::shared_ptr<Program> program,
                                          const DebugOptions& options) const;
  void publish_count();

  EventQueue& events_;
  MakeHandle make_handle_;
  pid_t host_ = 0;
  pid_t own_ = 0;
  base::ScopedFd child_signals_;
  SeizeWatch seize_watch_;
  std::uint64_t next_guard_ = 1;
  std::map<std::uint32_t, RecordPointer> records_;
  std::unordered_map<ThreadId, DebugRecord*> by_tid_;
  std::set<ThreadId> unwanted_;                  ///< children that are let go at their first stop
  std::map<ThreadId, Clock::time_point> early_;  ///< stopped at birth, before their parent's report
  std::vector<Report> batch_;
  std::vector<RecordPointer> removed_;  ///< kept while somebody may be looking at them
};

/// The process a thread belongs to; 0 when it has gone.
[[nodiscard]] std::uint32_t process_of(ThreadId tid);

}  // namespace mixstack::target
