// Registers of our own threads; twins in x86_64/ and aarch64/.
#pragma once

#include "mixstack/registers.h"

namespace mixstack::target {

/// From a `ucontext_t`, as getcontext fills it or a signal handler gets it. Signal-safe.
[[nodiscard]] Registers context_registers(const void* context);
/// The address of the calling thread's control block. Signal-safe.
[[nodiscard]] Address own_thread_pointer();

}  // namespace mixstack::target
