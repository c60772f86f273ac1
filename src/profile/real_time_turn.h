// Rounds when they are due, on a machine that has more to do than it can.
#pragma once

#include <sched.h>

namespace mixstack::profile {

/// A thread that looks at others comes before what computes, where we may (CAP_SYS_NICE): else it looks when those let
/// it, which is when they wait. Of real-time threads the least one. What its starter has chosen for it stays.
class RealTimeTurn {
 public:
  /// Of the calling thread, always the same one. `is_short`: it needs little of a processor at a time; what needs more
  /// is not to be in the way of others.
  void want(bool is_short) {
    if (is_short == has_it_ || is_refused_) return;
    if (is_short && ::sched_getscheduler(0) != SCHED_OTHER) {
      is_refused_ = true;
      return;
    }
    sched_param priority{};
    priority.sched_priority = is_short ? 1 : 0;
    is_refused_ = ::sched_setscheduler(0, is_short ? SCHED_RR | SCHED_RESET_ON_FORK : SCHED_OTHER, &priority) != 0;
    has_it_ = is_short && !is_refused_;
  }

 private:
  bool has_it_ = false, is_refused_ = false;
};

}  // namespace mixstack::profile
