// Registers in a ucontext_t of our own process, as getcontext fills it or a signal handler gets it.
#pragma once

#include <cstring>

#include "arch/cpu.h"

namespace mixstack::arch {

/// Signal-safe.
[[nodiscard]] inline Registers user_context_registers(Arch host, const void* context) {
  const SignalFrame& frame = cpu(host).signal_frame;
  Registers registers(host);
  for (std::size_t i = 0; i < frame.order.size(); i++) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(context) + frame.registers + 8 * i, sizeof(value));
    registers.set(frame.order[i], value);
  }
  return registers;
}

}  // namespace mixstack::arch
