// Registers of our own threads; twins of what is not data in x86_64/ and aarch64/.
#pragma once

#include "base/arch/user_context.h"
#include "process/live/thread_registers.h"

namespace mixstack::process {

/// From a `ucontext_t`, as getcontext fills it or a signal handler gets it. Signal-safe.
[[nodiscard]] inline Registers context_registers(const void* context) {
  return arch::user_context_registers(traceable_arch(), context);
}
/// The address of the calling thread's control block. Signal-safe.
[[nodiscard]] Address own_thread_pointer();

}  // namespace mixstack::process
