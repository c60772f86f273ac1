// The registers of a thread in a ptrace stop.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>

#include "mixstack/result.h"
#include "process/kernel/register_set.h"
#include "process/kernel/vector_set.h"

namespace mixstack::process {

/// The CPU this build traces: a live target has the host's.
[[nodiscard]] Arch traceable_arch();

/// Reads the general registers of a stopped thread; must be called by its tracer. Errors: `no_such_thread` when it is
/// not (or no longer) stopped, `unsupported_cpu` when it runs in another mode than the build's CPU.
[[nodiscard]] Result<RegisterSet> read_thread_registers(pid_t tid);

/// Bits of that thread's return addresses that pointer authentication uses, the same for all threads of a process; 0:
/// none, or the kernel does not tell. Must be called by its tracer.
[[nodiscard]] std::uint64_t read_pac_mask(pid_t tid);

/// The kernel's bytes of a thread's floating-point and vector registers, decoded when the thread runs again.
struct VectorBytes {
  std::array<std::byte, kVectorSetBytes> bytes{};
  std::size_t size = 0;  ///< 0: it told nothing
  [[nodiscard]] std::span<const std::byte> used() const { return std::span(bytes).first(size); }
};

/// Reads them of a stopped thread; must be called by its tracer.
void read_thread_vectors(pid_t tid, VectorBytes& out);

}  // namespace mixstack::process
