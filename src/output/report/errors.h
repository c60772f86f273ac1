// Why a process could not be dumped, in words: what happened, to whom, what to do next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/system/gained_rights.h"
#include "mixstack/problem.h"
#include "mixstack/result.h"

namespace mixstack::report {

using mixstack::Problem;

/// Facts from /proc about a process and about ourselves; gathered by the command after a failure. Plain data.
struct RefusalFacts {
  std::uint32_t pid = 0;
  bool exists = false;
  int look_error = 0;         ///< errno with which /proc/PID could not be read
  bool proc_missing = false;  ///< /proc is no proc file system
  bool proc_foreign = false;  ///< /proc is that of another pid namespace: nothing else here is known
  bool is_hidden = false;     ///< the kernel knows the pid, and /proc does not show it
  std::string comm;
  char state = '?';                ///< as in /proc/PID/stat
  std::uint32_t thread_group = 0;  ///< differs from `pid` when that is a thread's id
  std::uint32_t tracer = 0;        ///< 0: none
  std::string tracer_comm;
  std::uint32_t uid = 0;  ///< real uid of the process
  bool kernel_thread = false;
  int elf_bits = 0;               ///< 32 or 64, 0: not known
  std::uint16_t elf_machine = 0;  ///< e_machine
  bool is_self = false;
  bool other_user_namespace = false;
  bool not_dumpable = false;  ///< its files in /proc are root's although it is not
  bool more_rights = false;   ///< it has a capability that we lack
  // ourselves
  std::uint32_t own_uid = 0;
  bool may_trace = false;                ///< CAP_SYS_PTRACE is effective
  bool may_read = false;                 ///< so is CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE
  int yama = -1;                         ///< kernel.yama.ptrace_scope, -1: not there
  bool seccomp = false;                  ///< a seccomp filter on ourselves denies ptrace
  base::GainLimits limits{};             ///< what keeps us from getting more
  std::string own_program = "mixstack";  ///< our file, as a word for a shell
  // what was asked for
  std::string capabilities = "cap_sys_ptrace";  ///< that it needs, as of setcap(8): setting some takes others away
  std::uint64_t enough_files = 64;              ///< that it needs at most (ulimit -n)
};

/// Whether an errno means that the system is out of a resource (memory, descriptors, processes).
[[nodiscard]] bool is_shortage(int os_error);

/// The problem that makes a dump of this process impossible, found before anything is tried; `none`: try it.
[[nodiscard]] Problem foreseen_problem(const RefusalFacts& facts);

/// The problem that an error of `Session` means for this process.
[[nodiscard]] Problem problem_of(const Error& error, const RefusalFacts& facts);

/// The obstacle, for programs: of `permission` "seccomp", "user_namespace", "hides_itself" ..., of
/// `resources` "memory", "files" ...; empty: the problem has one cause only. Always a literal.
[[nodiscard]] std::string_view problem_reason(Problem problem, const Error& error, const RefusalFacts& facts);

/// One or more lines, the first saying what happened, the others what to do. Ends with a newline.
[[nodiscard]] std::string problem_text(Problem problem, const Error& error, const RefusalFacts& facts);

}  // namespace mixstack::report
