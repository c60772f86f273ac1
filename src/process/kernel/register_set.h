// The kernel's register set of a thread, as bytes of any CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::process {

/// The part of NT_PRSTATUS that a walk and a report need.
struct RegisterSet {
  Registers registers;
  std::int64_t syscall = -1;   ///< the system call the thread is in, -1: none, or not in this set
  bool was_waiting = false;    ///< in that system call, until the stop interrupted it; false: no, or not to be told
  Address thread_pointer = 0;  ///< base of thread-local storage, 0: not in this set
};

namespace x86_64 {
inline constexpr std::size_t kRegisterSetSize = 27 * 8;
/// `struct user_regs_struct` of arch/x86/include/asm/user_64.h. Another size is `unsupported_cpu` (value is the size):
/// the kernel answers the 32-bit set for a thread in 32-bit mode.
[[nodiscard]] Result<RegisterSet> decode_register_set(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> encode_register_set(const RegisterSet& set);
}  // namespace x86_64
namespace aarch64 {
inline constexpr std::size_t kRegisterSetSize = 34 * 8;
/// `struct user_pt_regs` of arch/arm64/include/uapi/asm/ptrace.h. Errors as above.
[[nodiscard]] Result<RegisterSet> decode_register_set(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> encode_register_set(const RegisterSet& set);
}  // namespace aarch64

/// In bytes; 0 for an unknown CPU.
[[nodiscard]] std::size_t register_set_size(Arch arch);

/// NT_PRSTATUS's registers (ptrace GETREGSET, or pr_reg of a core's note).
[[nodiscard]] Result<RegisterSet> decode_register_set(Arch arch, std::span<const std::byte> bytes);

/// The reverse, for cores that we write: unknown fields get the values usual for user code. Empty for an unknown CPU.
[[nodiscard]] std::vector<std::byte> encode_register_set(const RegisterSet& set);

/// The system call that a thread is in, from its code if the set does not tell; -1 if that code cannot be read. For a
/// call that the kernel restarted, the original one, if its code tells.
[[nodiscard]] std::int64_t system_call_number(const RegisterSet& set, const MemoryReader& code);

/// The state of a thread at the instant of its registers. `before`: its letter in /proc/PID/task/TID/stat just before
/// the stop. Only a system call lets a thread sleep: without one (`call`, of `system_call_number`) an S becomes R, and
/// if the stop interrupted its wait, an R becomes S. A D without a call is a page fault and stays.
[[nodiscard]] char state_at_stop(const RegisterSet& set, std::int64_t call, char before);

}  // namespace mixstack::process
