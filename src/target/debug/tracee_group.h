// The traced threads of a process, who wants which of them to stand still, and what brings them to it.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "target/debug/tracee.h"

namespace mixstack::target {

struct TracedProcess;
/// Whose thread it is: where reports are looked up.
using TraceeIndex = std::unordered_map<ThreadId, TracedProcess*>;

class TraceeGroup {
 public:
  /// `main` is the main thread's id. Keeps its threads in `index` as those of `owner`; borrows both.
  TraceeGroup(ThreadId main, TracedProcess& owner, TraceeIndex& index) : main_(main), owner_(owner), index_(index) {}

  // Who is there
  /// Held from the beginning while all are.
  Tracee& add(ThreadId tid);
  void remove(ThreadId tid);
  [[nodiscard]] Tracee* find(ThreadId tid);
  [[nodiscard]] const std::map<ThreadId, Tracee>& all() const { return tracees_; }
  [[nodiscard]] bool contains(ThreadId tid) const { return tracees_.contains(tid); }
  [[nodiscard]] bool empty() const { return tracees_.empty(); }
  /// Ascending, but the main thread first.
  [[nodiscard]] std::vector<ThreadId> ids() const;

  // Wishes: they only say who is wanted still; `interrupt` and `settle` bring it about
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

  // How things stand
  [[nodiscard]] bool is_still() const;
  /// A thread that should stand still and does not, or 0; with `guard`, of those that it holds.
  [[nodiscard]] ThreadId straggler(std::uint64_t guard = 0) const;
  /// A thread that the user does not hold.
  [[nodiscard]] bool has_free() const;
  /// Nothing is there but, maybe, a main thread that ended before the others, which nobody can detach from.
  [[nodiscard]] bool has_left() const;

  // What is done about it
  /// Requests a stop of those that should stand still and do not.
  void interrupt_wanted() const;
  void interrupt_all() const;
  /// Brings a thread that has stopped to what is wished of it. May remove `t`.
  void settle(Tracee& t) { carry_out(t, t.next_action(wish_for(t))); }
  void settle_all();
  /// Whatever is wished of it.
  void go_on(Tracee& t) { carry_out(t, t.next_action(Wish::run)); }

 private:
  struct Guard {
    std::uint64_t id = 0;
    std::vector<ThreadId> tids;  ///< ascending; empty: all
  };
  /// By the user or a guard; with `guard`, by that one.
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

}  // namespace mixstack::target
