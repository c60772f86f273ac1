#include "helpers/dac/syscall_filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <vector>

namespace mixstack::helper {
namespace {

// System calls that the C library and CoreCLR's platform layer use (strace; .NET 8, 9, 10), also when memory is short
// or a fault is handled. None of them reaches another process, a file system or a device, whatever its arguments: the
// only descriptors are those that the helper was given (seal.h).
constexpr long kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_close,
    SYS_fstat,
    SYS_fstatfs,
    SYS_lseek,
    SYS_recvfrom,
    SYS_ppoll,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mlock,
    SYS_futex,

    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrlimit,
    SYS_getcpu,
    SYS_membarrier,
    SYS_getcwd,
    SYS_getsid,
    SYS_pipe2,
    SYS_restart_syscall,
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
};

// Calls that name files trap; `file_answers.h` answers them.
constexpr long kAnswered[] = {
    SYS_openat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_readlinkat, SYS_faccessat, SYS_faccessat2,
#ifdef SYS_open
    SYS_open,   SYS_stat,       SYS_lstat, SYS_access, SYS_readlink,
#endif
};

// fcntl commands that only concern a descriptor. F_SETOWN and F_SETSIG send signals to others, F_SETFL enables them.
constexpr int kDescriptorCommands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL};

constexpr unsigned kNumber = offsetof(seccomp_data, nr);
constexpr unsigned kArch = offsetof(seccomp_data, arch);
constexpr unsigned argument(unsigned i) {
  return static_cast<unsigned>(offsetof(seccomp_data, args)) + i * unsigned{sizeof(std::uint64_t)};
}

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;

/// A BPF program for seccomp, written front to back.
class Filter {
 public:
  void load(unsigned offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void mask(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  void answer(std::uint32_t verdict) { add(BPF_RET | BPF_K, verdict); }
  void answer_if_equal(std::uint32_t value, std::uint32_t verdict) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(verdict);
  }
  void answer_unless_equal(std::uint32_t value, std::uint32_t verdict) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    answer(verdict);
  }
  /// The next `count` instructions run for this value only.
  void only_for(std::uint32_t value, std::uint8_t count) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
  }
  [[nodiscard]] bool install() {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void add(std::uint16_t code, std::uint32_t k) { code_.push_back(BPF_STMT(code, k)); }
  std::vector<sock_filter> code_;
};

}  // namespace

bool allow_few_system_calls() {
  Filter filter;
  filter.load(kArch);
  filter.answer_unless_equal(native_audit_arch(), kDeny);
  filter.load(kNumber);
  for (const long number : kAllowed) filter.answer_if_equal(static_cast<std::uint32_t>(number), kAllow);
  for (const long number : kAnswered) filter.answer_if_equal(static_cast<std::uint32_t>(number), SECCOMP_RET_TRAP);
  filter.only_for(SYS_fcntl, std::size(kDescriptorCommands) * 2 + 2);
  filter.load(argument(1));
  for (const int command : kDescriptorCommands) filter.answer_if_equal(static_cast<std::uint32_t>(command), kAllow);
  filter.answer(kDeny);
  // sendto: no flags but these two; an urgent byte (MSG_OOB) would send a signal. No address is checked: the only
  // socket is connected.
  filter.load(kNumber);
  filter.only_for(SYS_sendto, 5);
  filter.load(argument(3));
  filter.mask(~std::uint32_t{MSG_NOSIGNAL | MSG_DONTWAIT});
  filter.answer_if_equal(0, kAllow);
  filter.answer(kDeny);
  // prlimit64: this process only (pid 0).
  filter.load(kNumber);
  filter.only_for(SYS_prlimit64, 4);
  filter.load(argument(0));
  filter.answer_if_equal(0, kAllow);
  filter.answer(kDeny);
  // prctl: thread names only.
  filter.load(kNumber);
  filter.only_for(SYS_prctl, 4);
  filter.load(argument(0));
  filter.answer_if_equal(PR_SET_NAME, kAllow);
  filter.answer(kDeny);
  filter.answer(kDeny);
  return filter.install();
}

}  // namespace mixstack::helper
