#include "process/live/ptrace_refusal.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/system/proc_status.h"
#include "base/system/small_file.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMostStatus = 16 << 10;

[[nodiscard]] int read_yama_scope() {
  const std::string text = base::line_at("/proc/sys/kernel/yama/ptrace_scope");
  return text.empty() ? -1 : static_cast<int>(last_number(text).value_or(0));
}

[[nodiscard]] std::string status_of(std::uint32_t pid, ThreadId tid) {
  return base::text_at("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status", kMostStatus);
}

[[nodiscard]] PtraceRefusal reason_without_capability(std::uint32_t pid, const PtraceRefusalReport& r) {
  if (r.target_uid != r.own_uid) return PtraceRefusal::other_user;
  if (!is_dumpable(pid, r.target_uid)) return PtraceRefusal::not_dumpable;
  if (ptrace_is_filtered()) return PtraceRefusal::seccomp;
  if (r.yama_scope == 1) return PtraceRefusal::yama_children_only;
  if (r.yama_scope == 2) return PtraceRefusal::yama_capability;
  if (has_more_rights(pid)) return PtraceRefusal::more_rights;
  return PtraceRefusal::unknown;
}

/// Opening this file asks the kernel for the right to look at the process (PTRACE_MODE_READ).
[[nodiscard]] bool may_read(std::uint32_t pid) {
  return bool{base::ScopedFd(::open(("/proc/" + std::to_string(pid) + "/auxv").c_str(), O_RDONLY | O_CLOEXEC))};
}

}  // namespace

bool ptrace_is_filtered() {
  constexpr int kFilter = 2;       // proc(5): Seccomp
  constexpr long kSeize = 0x4206;  // PTRACE_SEIZE; no process has the number 0
  if (base::status_number(base::own_status(), "Seccomp") != kFilter) return false;
  return ::syscall(SYS_ptrace, kSeize, 0L, 0L, 0L) == -1 && errno != ESRCH;
}

bool is_dumpable(std::uint32_t pid, std::uint32_t uid) {
  struct stat st {};
  return ::stat(("/proc/" + std::to_string(pid) + "/auxv").c_str(), &st) != 0 || st.st_uid == uid;
}

bool has_more_rights(std::uint32_t pid) {
  const auto theirs =
      base::status_number(base::text_at("/proc/" + std::to_string(pid) + "/status", kMostStatus), "CapPrm", 16);
  return (theirs & ~base::status_number(base::own_status(), "CapPrm", 16)) != 0;
}

ThreadId living_thread(std::uint32_t pid) {
  const auto lives = [pid](ThreadId tid) {
    const std::string status = status_of(pid, tid);
    const auto state = status_field(status, "State").value_or("X");
    return !state.starts_with('Z') && !state.starts_with('X');
  };
  if (lives(pid)) return pid;
  const auto proc = ProcDir::open(pid);
  const auto tasks = proc ? proc->tasks() : Result<std::vector<ThreadId>>(fail(ErrorCode::no_such_process));
  if (!tasks) return 0;
  const auto found = std::find_if(tasks->begin(), tasks->end(), lives);
  return found == tasks->end() ? 0 : *found;
}

ThreadId tracer_of(std::uint32_t pid, ThreadId tid) {
  return static_cast<ThreadId>(base::status_number(status_of(pid, tid), "TracerPid"));
}

Error refusal_of(const ProcDir& proc, ThreadId tid, int error) {
  const auto stat = proc.thread_stat(tid);
  if (error == ESRCH || !stat || stat->state == 'Z' || stat->state == 'X')
    return {ErrorCode::no_such_thread, error, tid};
  if (const ThreadId tracer = tracer_of(proc.pid(), tid); tracer != 0)
    return {ErrorCode::already_traced, error, tracer};
  return {ErrorCode::permission_denied, error, tid};
}

PtraceRefusalReport explain_ptrace_refusal(std::uint32_t pid, ThreadId tid) {
  PtraceRefusalReport r;
  r.own_uid = ::geteuid();
  r.yama_scope = read_yama_scope();
  r.has_capability = (base::status_number(base::own_status(), "CapEff", 16) >> CAP_SYS_PTRACE & 1) != 0;
  const ThreadId living = living_thread(pid);
  const std::string status = status_of(pid, tid != 0 ? tid : living != 0 ? living : pid);
  if (status.empty()) {
    r.reason = PtraceRefusal::no_such_process;
    return r;
  }
  r.target_uid = static_cast<std::uint32_t>(base::status_number(status, "Uid"));
  r.tracer = static_cast<std::uint32_t>(base::status_number(status, "TracerPid"));
  const std::string_view state = status_field(status, "State").value_or("?");
  if (base::status_number(status, "Tgid") == static_cast<std::uint64_t>(::getpid())) {
    r.reason = PtraceRefusal::own_process;
  } else if (state.starts_with('Z') || state.starts_with('X')) {
    r.reason = PtraceRefusal::zombie;
  } else if (!status_field(status, "VmSize")) {
    // A process that is ending has no memory any more, either.
    constexpr std::uint64_t kKthreadd = 2;
    const bool is_of_kernel = pid == kKthreadd || base::status_number(status, "PPid") == kKthreadd;
    r.reason = is_of_kernel ? PtraceRefusal::kernel_thread : PtraceRefusal::zombie;
  } else if (r.tracer != 0) {
    r.reason = PtraceRefusal::already_traced;
  } else if (r.yama_scope == 3) {
    r.reason = PtraceRefusal::yama_disabled;
  } else if (!r.has_capability) {
    r.reason = reason_without_capability(pid, r);
  } else if (ptrace_is_filtered()) {
    r.reason = PtraceRefusal::seccomp;
  } else if (!may_read(pid)) {
    r.reason = PtraceRefusal::unknown;
  }
  return r;
}

}  // namespace mixstack::process
