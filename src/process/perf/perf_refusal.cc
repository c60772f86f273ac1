#include "process/perf/perf_refusal.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "base/system/own_program.h"
#include "base/system/proc_status.h"
#include "process/perf/kernel_files.h"

namespace mixstack::perf {
namespace {

constexpr unsigned kPerfmon = 38;  // CAP_PERFMON, Linux 5.8

std::string grant(const PerfRights& rights) {
  return base::ways_to_gain_in_a_line("cap_perfmon", "cap_bpf,cap_perfmon,cap_sys_ptrace", rights.limits,
                                      base::own_program_for_shell());
}

std::string explain_denial(const Error& error, const PerfRights& rights) {
  // The kernel itself answers EACCES (perf_event_open(2)); EPERM comes from a filter, or from the limit on locked
  // memory.
  if (rights.is_filtered && error.os_error == EPERM)
    return "a seccomp filter denies perf_event_open: in a container, run it with --cap-add=PERFMON or another profile "
           "(--security-opt seccomp=...)";
  if (error.os_error == EPERM && error.value != 0 && rights.paranoid <= 2)
    return "there is no room for a ring of " + std::to_string(error.value / 1024) +
           " KiB: sysctl kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK (ulimit -l) limits it";
  const std::string level = " (kernel.perf_event_paranoid = " + std::to_string(rights.paranoid) + ")";
  std::string words =
      "the kernel denies perf_event_open" + std::string(rights.has_perfmon ? "" : " without CAP_PERFMON");
  words += level;
  if (rights.has_perfmon) return words + ": the process is another user's, or protected by a security module";
  words += ": ";
  words += grant(rights);
  if (rights.paranoid > 2) words += ", or: sysctl kernel.perf_event_paranoid=2, for processes of the same user";
  return words;
}

}  // namespace

PerfRights read_perf_rights() {
  PerfRights rights;
  rights.paranoid = static_cast<int>(number_in("/proc/sys/kernel/perf_event_paranoid").value_or(2));
  const std::string status = base::own_status();
  const std::uint64_t effective = base::status_number(status, "CapEff", 16);
  rights.has_perfmon = (effective >> kPerfmon & 1) != 0 || (effective >> CAP_SYS_ADMIN & 1) != 0;
  rights.is_filtered = base::status_number(status, "Seccomp") == 2;
  rights.limits = base::own_gain_limits();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) rights.most_files = files.rlim_max;
  return rights;
}

std::string explain_perf_refusal(const Error& error, const PerfRights& rights) {
  switch (error.code) {
    case ErrorCode::permission_denied:
      return explain_denial(error, rights);
    case ErrorCode::unsupported:
      return error.os_error == ENOSYS ? "this kernel has no perf events (CONFIG_PERF_EVENTS), or a filter hides them"
                                      : "this kernel counts neither cycles nor processor time by perf events";
    case ErrorCode::limit_exceeded:
      return "too few files may be open for an event of each thread (ulimit -n: " + std::to_string(rights.most_files) +
             " at most" + (error.value == 0 ? "" : ", " + std::to_string(error.value) + " are enough") + ")";
    case ErrorCode::no_such_process:
      return "there is no such process (any more)";
    case ErrorCode::unsupported_cpu:
      return "samples of this CPU are not understood";
    case ErrorCode::invalid_argument:
      return "the kernel refuses the rate or the size of the samples";
    default:
      return std::string("perf events failed: ") + std::strerror(error.os_error);
  }
}

std::string explain_missing_kernel(const PerfRights& rights) {
  if (rights.has_perfmon || rights.paranoid < 2) return {};
  return "time in the kernel is not sampled (kernel.perf_event_paranoid = " + std::to_string(rights.paranoid) +
         "): " + grant(rights) + ", or: sysctl kernel.perf_event_paranoid=1";
}

}  // namespace mixstack::perf
