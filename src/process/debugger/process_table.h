// The processes that a tracer debugs, and tracees that belong to none of them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "process/debugger/traced_process.h"

namespace mixstack::process {

using ProcessPointer = std::shared_ptr<TracedProcess>;
using MakeHandle = std::function<std::shared_ptr<DebuggedProcess>(const ProcessPointer&)>;

/// Includes detached processes while some of their threads could not be released; those have no handle any more.
class ProcessTable {
 public:
  ProcessTable(EventQueue& events, MakeHandle make_handle) : events_(events), make_handle_(std::move(make_handle)) {}

  ProcessPointer add(std::uint32_t pid, std::shared_ptr<Program> program, const DebugOptions& options);
  /// The process with that number, or null.
  [[nodiscard]] ProcessPointer find(std::uint32_t pid) const;
  [[nodiscard]] TracedProcess* process_of(ThreadId tid) const;
  [[nodiscard]] std::vector<ProcessPointer> all() const;

  /// Detaches: threads that do not stand still are let go when they do.
  void leave(TracedProcess& process);
  /// Forgets a detached process when none of its threads is traced any more.
  void remove_if_left(TracedProcess& process);
  /// Looks for threads of detached processes that have vanished: when a released one calls exec, it takes the main
  /// thread's place, and nothing is reported.
  void look_after_leaving();
  [[nodiscard]] bool has_leaving() const;
  /// The process lives on until `drop_removed`: a caller may still use it.
  void remove(TracedProcess& process);
  void drop_removed() { removed_.clear(); }
  /// To be called when the tracer has ended, by any thread.
  void forget_all();

 private:
  void publish_count();

  EventQueue& events_;
  MakeHandle make_handle_;
  std::map<std::uint32_t, ProcessPointer> processes_;
  TraceeIndex index_;
  std::vector<ProcessPointer> removed_;
};

/// Tracees whose process is not known, or not wanted.
struct Strays {
  using Clock = std::chrono::steady_clock;
  std::set<ThreadId> unwanted;                  ///< let go at their first stop
  std::map<ThreadId, Clock::time_point> early;  ///< stopped at birth, before their maker's report came
  /// Releases those that stopped before `before`: their makers were killed before these were reported.
  void release_early(Clock::time_point before);
};

}  // namespace mixstack::process
