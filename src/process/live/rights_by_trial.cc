#include "process/live/rights_by_trial.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace mixstack::process {
namespace {

/// A child that does nothing; it ends with us.
class IdleChild {
 public:
  IdleChild() {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ != 0) return;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // it was killed before the line above
    for (;;) ::pause();
  }
  IdleChild(const IdleChild&) = delete;
  IdleChild& operator=(const IdleChild&) = delete;
  ~IdleChild() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, __WALL);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

/// Runs a try in a child, since a filter may kill it. The errno that it answers is the exit status.
template <class Try>
Tried in_a_child(Try attempt) {
  const pid_t pid = ::fork();
  if (pid < 0) return {errno};
  if (pid == 0) ::_exit(attempt() & 0xff);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : Tried::kKilled};
}

}  // namespace

Tried try_ptrace() {
  return in_a_child([] {
    const IdleChild child;
    return ::ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) == 0 ? 0 : errno;
  });
}

Tried try_memory() {
  return in_a_child([] {
    static const char from = 'x';
    const IdleChild child;
    char to = 0;
    const struct iovec local { &to, 1 }, remote{const_cast<char*>(&from), 1};
    return ::process_vm_readv(child.pid(), &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
  });
}

Tried try_perf_event(std::uint32_t pid) {
  return in_a_child([pid] {
    const IdleChild child;
    struct perf_event_attr attr {};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof attr;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = 1'000'000;
    attr.exclude_kernel = 1;
    attr.disabled = 1;
    const pid_t whose = pid == 0 ? child.pid() : static_cast<pid_t>(pid);
    return ::syscall(SYS_perf_event_open, &attr, whose, -1, -1, 0UL) >= 0 ? 0 : errno;
  });
}

Tried try_bpf() {
  return in_a_child([] {
    union bpf_attr attr {};
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = 4;
    attr.value_size = 4;
    attr.max_entries = 1;
    return ::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr) >= 0 ? 0 : errno;
  });
}

}  // namespace mixstack::process
