// Faults that others handle on the alternate stack, handed on so that it is free for handlers of ours.
#pragma once

#include <csignal>

namespace mixstack::agent {

/// The runtime's handler of SIGSEGV begins on the alternate stack and goes on on the thread's own, while it still needs
/// what the kernel put on the alternate one. A handler of ours that came then would have its frame put over that. So
/// ours is before it: it has the frame moved to the lower half of the alternate stack, where the kernel puts nothing
/// unless code runs there, and lets the runtime's handler begin below it. That is so on the larger stacks that
/// AlternateStacks gives threads. On others the fault is handed on where it is, and the signal that is held up stays so
/// until that handler returns.
///
/// One at a time in a process. Whoever put a handler before ours meanwhile keeps it, and ours stays behind it.
class FaultRelay {
 public:
  /// `held_up`: the signal whose handler must not run while a fault is in the upper half. Nothing is done where faults
  /// are not handled on alternate stacks.
  static void begin(int held_up);
  /// The handler that was there before gets faults without us.
  static void end();

 private:
  static void on_fault(int signal, siginfo_t* info, void* context) noexcept;
};

}  // namespace mixstack::agent
