// One traced thread: its state after a stop, and its next action.
#pragma once

#include <cstdint>

#include "process/kernel/ptrace.h"

namespace mixstack::process {

/// The combined wish of all who hold a thread.
enum class Wish : std::uint8_t { run, stand_still, leave };

/// Makes no system calls; `TraceeGroup` does what `next_action` says.
struct Tracee {
  enum class State : std::uint8_t {
    running,
    listening,  ///< in a job-control stop, and PTRACE_LISTEN told the kernel to let SIGCONT end it
    stopped,    ///< in a ptrace stop: its registers can be read
    ended,      ///< the main thread as a zombie, while others live on: nothing is ever reported of it
  };
  enum class Action : std::uint8_t {
    none,
    go_on,    ///< with the signal before whose delivery it stopped, if any
    deliver,  ///< go on with the signal, and stop again at once
    listen,   ///< back into the job-control stop
    detach,
  };

  ThreadId tid = 0;
  State state = State::running;
  bool held = false;          ///< by the user
  bool keeps_signal = false;  ///< held at a signal on the user's wish: delivered only when it goes on
  int signal = 0;             ///< stopped before the delivery of this signal
  int job_stop = 0;           ///< stopped in a job-control stop by this signal

  [[nodiscard]] bool is_still() const { return state == State::stopped || state == State::ended; }

  /// `holds_at_signals`: a signal waits until the user lets the thread go on.
  void take_stop(const TraceeReport& stop, bool holds_at_signals) {
    state = State::stopped;
    signal = stop.event == TraceeEvent::signal ? stop.value : 0;
    keeps_signal = signal != 0 && holds_at_signals;
    job_stop = stop.event == TraceeEvent::job_stop ? stop.value : 0;
  }
  [[nodiscard]] Action next_action(Wish wish) const {
    if (state != State::stopped) return Action::none;
    if (wish == Wish::leave) return Action::detach;
    if (wish == Wish::run) return job_stop != 0 ? Action::listen : Action::go_on;
    // The signal came before our stop did. Were it held back, it would be lost if we are killed: it is delivered now,
    // and the stop that is requested again comes before the thread's next instruction.
    return signal == 0 || keeps_signal ? Action::none : Action::deliver;
  }
  /// `next` is running or listening.
  void goes_on(State next) {
    state = next;
    signal = 0;
  }
};

}  // namespace mixstack::process
