// The traced threads of a process: which of them are to stand still, for whom, and how they are stopped.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "process/debugger/tracee.h"

namespace mixstack::process {

struct TracedProcess;
/// The process of each traced thread, for reports.
using TraceeIndex = std::unordered_map<ThreadId, TracedProcess*>;

class TraceeGroup {
 public:
  /// `main` is the main thread's id. Keeps its threads in `index` as those of `owner`; borrows both.
  TraceeGroup(ThreadId main, TracedProcess& owner, TraceeIndex& index) : main_(main), owner_(owner), index_(index) {}

  // Members
  /// A new thread is held from its beginning while all are held.
  Tracee& add(ThreadId tid);
  void remove(ThreadId tid);
  [[nodiscard]] Tracee* find(ThreadId tid);
  [[nodiscard]] const std::map<ThreadId, Tracee>& all() const { return tracees_; }
  [[nodiscard]] bool contains(ThreadId tid) const { return tracees_.contains(tid); }
  [[nodiscard]] bool empty() const { return tracees_.empty(); }
  /// Ascending, but the main thread first.
  [[nodiscard]] std::vector<ThreadId> ids() const;

  // Wishes: they only record which threads are to stand still; `interrupt_wanted` and `settle` act on them
  void hold_all();
  void release_all();
  void release(Tracee& t);
  [[nodiscard]] bool is_all_held() const { return all_held_; }
  /// Holds threads (empty: all, newborn ones included) until `remove_guard` with the number it answers.
  [[nodiscard]] std::uint64_t add_guard(std::span<const ThreadId> tids);
  void remove_guard(std::uint64_t id);
  /// From now on every thread is let go as soon as it has stopped.
  void leave() { leaving_ = true; }
  [[nodiscard]] bool is_leaving() const { return leaving_; }
  [[nodiscard]] Wish wish_for(const Tracee& t) const;

  // State
  [[nodiscard]] bool is_still() const;
  /// A thread that should stand still and does not, or 0; with `guard`, of those that it holds.
  [[nodiscard]] ThreadId straggler(std::uint64_t guard = 0) const;
  /// Whether there is a thread that the user does not hold.
  [[nodiscard]] bool has_free() const;
  /// Whether nothing is left but, maybe, a main thread that ended before the others, which cannot be detached from.
  [[nodiscard]] bool has_left() const;

  // Actions
  /// Requests a stop of those that should stand still and do not.
  void interrupt_wanted() const;
  void interrupt_all() const;
  /// Does what is wished of a thread that has stopped. May remove `t`.
  void settle(Tracee& t) { carry_out(t, t.next_action(wish_for(t))); }
  void settle_all();
  /// Continues it, whatever is wished.
  void go_on(Tracee& t) { carry_out(t, t.next_action(Wish::run)); }

 private:
  struct Guard {
    std::uint64_t id = 0;
    std::vector<ThreadId> tids;  ///< ascending; empty: all
  };
  /// Whether the user or a guard holds it; with `guard`, whether that one does.
  [[nodiscard]] bool is_held(const Tracee& t, std::uint64_t guard = 0) const;
  void carry_out(Tracee& t, Tracee::Action action);

  ThreadId main_;
  TracedProcess& owner_;
  TraceeIndex& index_;
  std::map<ThreadId, Tracee> tracees_;
  std::vector<Guard> guards_;
  std::uint64_t last_guard_ = 0;
  bool all_held_ = false;
  bool leaving_ = false;
};

}  // namespace mixstack::process
