// Keeps rounds on time on an overloaded machine.
#pragma once

#include <sched.h>

namespace mixstack::record {

/// Gives the sampling thread real-time priority (the lowest) where we may (CAP_SYS_NICE). Without it the thread runs
/// only when others yield, that is when they wait, and so sees them waiting too often. A scheduling policy that the
/// user has chosen for us stays.
class RealTimeTurn {
 public:
  /// For the calling thread, always the same one. `is_short`: it needs little CPU at a time; a thread that needs more
  /// must not delay others.
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

}  // namespace mixstack::record
