// Faults that others handle on the alternate stack, handed on so that it is free for handlers of ours.
#pragma once

#include <csignal>
#include <cstdint>

#include "mixstack/address.h"

namespace mixstack::agent {

/// The runtime's handler of SIGSEGV begins on the alternate stack and goes on on the thread's own, while it still needs
/// what the kernel put on the alternate one. A handler of ours that came then would have its frame put over that. So
/// ours is before it: on a thread's own stack that has room the fault is handed on as the kernel hands it on to
/// handlers without an alternate stack, on that stack, a copy of the frame included. That is one of the two ways which
/// the runtime's handler knows. All else (goroutines, overflows of a stack, code of nobody) is handed on where it is,
/// and the signal that is held up stays so until that handler returns.
///
/// One at a time in a process. Whoever put a handler before ours meanwhile keeps it, and ours stays behind it.
class FaultRelay {
 public:
  /// Tells, in a handler, whether the interrupted code runs on its thread's own stack, or is the runtime's on whatever
  /// stack, and that stack is there down to `lowest`.
  using HasRoom = bool(const void* context, Address lowest) noexcept;

  /// Of `held_up`, whose handler must not run while a fault is on the alternate stack. Nothing is done where faults are
  /// not handled on alternate stacks.
  static void begin(int held_up, HasRoom* has_room);
  /// The handler that was there before gets faults without us.
  static void end();

 private:
  static void on_fault(int signal, siginfo_t* info, void* context) noexcept;
};

}  // namespace mixstack::agent
