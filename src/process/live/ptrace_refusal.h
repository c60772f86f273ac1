// Why the kernel does not let us look at a process.
#pragma once

#include <cstdint>

#include "mixstack/target.h"

namespace mixstack::process {

class ProcDir;

/// The first rule of ptrace(2) "Ptrace access mode checking" and of PTRACE_SEIZE that stands in the way.
enum class PtraceRefusal : std::uint8_t {
  none,             ///< nothing known stands in the way (any more)
  no_such_process,  ///< gone, or hidden by the hidepid option of /proc
  zombie,           ///< has ended, its parent has not asked for it
  kernel_thread,
  own_process,         ///< a process cannot trace itself
  already_traced,      ///< `tracer` is the thread that does
  other_user,          ///< another user's process, and we lack CAP_SYS_PTRACE
  not_dumpable,        ///< set-user-id, file capabilities or prctl(PR_SET_DUMPABLE, 0), and we lack CAP_SYS_PTRACE
  yama_children_only,  ///< kernel.yama.ptrace_scope = 1: only descendants, and we lack CAP_SYS_PTRACE
  yama_capability,     ///< kernel.yama.ptrace_scope = 2: only with CAP_SYS_PTRACE
  yama_disabled,       ///< kernel.yama.ptrace_scope = 3: nobody until reboot
  seccomp,             ///< a seccomp filter on ourselves denies ptrace: a container's profile, a service's settings
  more_rights,         ///< it has capabilities that we lack, and we lack CAP_SYS_PTRACE
  unknown,             ///< another security module, a user namespace
};

struct PtraceRefusalReport {
  PtraceRefusal reason = PtraceRefusal::none;
  std::uint32_t target_uid = 0;
  std::uint32_t own_uid = 0;
  std::uint32_t tracer = 0;     ///< TracerPid of the process, 0: none
  int yama_scope = -1;          ///< -1: Yama is not there
  bool has_capability = false;  ///< we hold CAP_SYS_PTRACE
};

/// Finds out after a call failed, or before one: asks only /proc, attaches to nothing. `tid` 0 means the main thread;
/// else that thread's tracer is looked up. The answer may be outdated when it arrives.
[[nodiscard]] PtraceRefusalReport explain_ptrace_refusal(std::uint32_t pid, ThreadId tid = 0);

/// Whether a seccomp filter on ourselves denies ptrace. Asks only where there is a filter, for a process that cannot
/// exist: the kernel says ESRCH, a filter something else. Not to be called before ptrace has been tried and refused: a
/// filter may kill instead of denying.
[[nodiscard]] bool ptrace_is_filtered();

/// The files of a process that is not dumpable belong to root, whoever its user is (proc(5)): of root's own processes
/// this tells nothing, and they count as dumpable.
[[nodiscard]] bool is_dumpable(std::uint32_t pid, std::uint32_t uid);

/// Whether the process has a capability that we lack (all known ones in /proc).
[[nodiscard]] bool has_more_rights(std::uint32_t pid);

/// A thread that has not ended; the main thread if that is one, which may end before the others. 0: none.
[[nodiscard]] ThreadId living_thread(std::uint32_t pid);

/// Why PTRACE_SEIZE of a thread answered `error`. Errors: no_such_thread, already_traced (value is the tracer),
/// permission_denied.
[[nodiscard]] Error refusal_of(const ProcDir& proc, ThreadId tid, int error);

/// The tracer of a thread, or 0.
[[nodiscard]] ThreadId tracer_of(std::uint32_t pid, ThreadId tid);

}  // namespace mixstack::process
