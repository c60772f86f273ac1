#include "helpers/dac/file_answers.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "dotnet/dac/protocol.h"
#include "helpers/dac/trapped_call.h"

namespace mixstack::helper {
namespace {

struct Answer {
  const char* path;
  int fd;
};
constexpr int kFirst = dotnet::dac::kHelperDac + 1;
// Facts about this process and the machine, not about anybody's files. Descriptors have fixed numbers because the
// handler has no state.
constexpr Answer kAnswers[] = {
    {dotnet::dac::kHelperDacPath, dotnet::dac::kHelperDac},
    {"/proc/self/maps", kFirst},  // pthread_getattr_np reads the end of the main thread's stack
    {"/sys/devices/system/cpu/online", kFirst + 1},
    {"/proc/meminfo", kFirst + 2},
};

long open_answer(std::uint64_t path) {
  const auto* name = reinterpret_cast<const char*>(path);
  if (name == nullptr) return -EFAULT;
  for (const Answer& answer : kAnswers) {
    if (std::string_view(name) != answer.path) continue;
    // Copies share one file position: rewind.
    if (::lseek(answer.fd, 0, SEEK_SET) != 0) return -ENOENT;
    const int copy = ::fcntl(answer.fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 ? copy : -EMFILE;
  }
  return -ENOENT;
}

/// Newer C libraries implement fstat() by newfstatat with an empty path.
long status_answer(const TrappedCall& call) {
  const auto* name = reinterpret_cast<const char*>(call.arguments[1]);
  if ((call.arguments[3] & AT_EMPTY_PATH) == 0 || name == nullptr || *name != '\0') return -ENOENT;
  return ::syscall(SYS_fstat, static_cast<int>(call.arguments[0]), call.arguments[2]) == 0 ? 0 : -errno;
}

/// realpath() of the program's own name, which the platform layer of .NET 11 cannot do without: no part of it is a
/// link.
long link_answer(std::uint64_t path) {
  const auto* name = reinterpret_cast<const char*>(path);
  if (name == nullptr) return -EFAULT;
  for (const char* own : {"/proc", "/proc/self", "/proc/self/exe"})
    if (std::string_view(name) == own) return -EINVAL;
  return -ENOENT;
}

long answer(const TrappedCall& call) {
  switch (call.number) {
    case SYS_openat:
      return open_answer(call.arguments[1]);
#ifdef SYS_open
    case SYS_open:
      return open_answer(call.arguments[0]);
#endif
    case SYS_readlinkat:
      return link_answer(call.arguments[1]);
#ifdef SYS_readlink
    case SYS_readlink:
      return link_answer(call.arguments[0]);
#endif
    case SYS_newfstatat:
      return status_answer(call);
    case SYS_statx:
      return -ENOSYS;
    default:
      return -ENOENT;
  }
}

void on_trap(int, siginfo_t* info, void* context) {
  const int saved = errno;
  auto& registers = *static_cast<ucontext_t*>(context);
  set_result(registers, answer(trapped_call(*info, registers)));
  errno = saved;
}

}  // namespace

bool open_answered_files() {
  for (const Answer& answer : kAnswers) {
    if (answer.fd == dotnet::dac::kHelperDac) continue;
    const int fd = ::open(answer.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd == answer.fd) continue;
    if (::dup3(fd, answer.fd, O_CLOEXEC) < 0) return false;
    ::close(fd);
  }
  return true;
}

bool answer_file_calls() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return ::sigaction(SIGSYS, &action, nullptr) == 0;
}

}  // namespace mixstack::helper
