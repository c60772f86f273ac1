// The rights of this process over others, found out by trying.
#pragma once

#include <cstdint>

namespace mixstack::process {

/// The result of a try. `error` 0: it worked; an errno; `kKilled`: a seccomp filter kills the process that tries.
struct Tried {
  static constexpr int kKilled = -1;
  int error = 0;
  [[nodiscard]] bool works() const { return error == 0; }
};

/// PTRACE_SEIZE of a child of our own, which the kernel allows to everybody unless a filter denies it.
[[nodiscard]] Tried try_ptrace();
/// process_vm_readv of that child.
[[nodiscard]] Tried try_memory();
/// A perf event that counts the processor time of `pid` in user code; 0: of a child of our own.
[[nodiscard]] Tried try_perf_event(std::uint32_t pid);
/// The smallest BPF map.
[[nodiscard]] Tried try_bpf();

}  // namespace mixstack::process
