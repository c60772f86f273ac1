// The processes that a tracer debugs, and tracees that belong to none of them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "target/debug/traced_process.h"

namespace mixstack::target {

using ProcessPointer = std::shared_ptr<TracedProcess>;
using MakeHandle = std::function<std::shared_ptr<DebuggedProcess>(const ProcessPointer&)>;

/// Those, too, that were left while some of their threads could not be let go; they have no handle any more.
class ProcessTable {
 public:
  ProcessTable(EventQueue& events, MakeHandle make_handle) : events_(events), make_handle_(std::move(make_handle)) {}

  ProcessPointer add(std::uint32_t pid, std::shared_ptr<Program> program, const DebugOptions& options);
  /// Or null.
  [[nodiscard]] ProcessPointer find(std::uint32_t pid) const;
  [[nodiscard]] TracedProcess* process_of(ThreadId tid) const;
  [[nodiscard]] std::vector<ProcessPointer> all() const;

  /// Detaches: threads that do not stand still are let go when they do.
  void leave(TracedProcess& process);
  /// A process that was left is forgotten when nothing of it is traced any more.
  void remove_if_left(TracedProcess& process);
  /// Looks for threads of processes that were left which have vanished: when one that was let go calls exec, it takes
  /// the main thread's place, and nothing is reported.
  void look_after_leaving();
  [[nodiscard]] bool has_leaving() const;
  /// Stays alive until `drop_removed`: somebody may be looking at it.
  void remove(TracedProcess& process);
  void drop_removed() { removed_.clear(); }
  /// When the tracer has ended, by anybody.
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
  /// Lets go those that stopped before: their makers were killed before they could tell of them.
  void release_early(Clock::time_point before);
};

}  // namespace mixstack::target
