// Relays faults to the runtime's handler with their signal frame moved, so that our handlers cannot overwrite it.
#pragma once

#include <csignal>

namespace mixstack::agent {

/// The runtime's handler of SIGSEGV begins on the alternate stack, then switches to the thread's own stack while it
/// still needs the signal frame on the alternate one. A signal of ours that arrives then would overwrite that frame:
/// the kernel sees the alternate stack as unused. So our handler comes first. It moves the frame to the lower half of
/// the alternate stack, where the kernel puts nothing unless code runs there, and starts the runtime's handler below
/// it. That needs the larger stacks of AlternateStacks. On other stacks the fault is passed on in place, and our signal
/// stays blocked until the runtime's handler returns.
///
/// One at a time in a process. A handler that others install over ours stays, and ours stays behind it.
class FaultRelay {
 public:
  /// `held_up`: the signal to block while a fault's frame is in the upper half. Does nothing if faults are not handled
  /// on alternate stacks.
  static void begin(int held_up);
  /// Restores the handler that was there before.
  static void end();

 private:
  static void on_fault(int signal, siginfo_t* info, void* context) noexcept;
};

}  // namespace mixstack::agent
