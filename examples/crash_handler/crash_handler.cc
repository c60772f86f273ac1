// A program that prints its own stacks, native and managed, when it crashes.
//
//   crash_handler segv|abort|overflow
//
// A crashed process must not trust its own heap and locks. So the handler does the least it can: it starts a child
// (_Fork and execve are safe in signal handlers), lets that child trace us, and waits. The child is this same program,
// fresh, and looks at us from outside like at any other process.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/print_stack.h"
#include "mixstack/session.h"

namespace {

/// A number without snprintf, which signal handlers may not call.
void write_number(char* out, unsigned value) {
  std::array<char, 12> digits{};
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) *out++ = digits[--count];
  *out = '\0';
}

void on_crash(int signal) {
  const int saved_errno = errno;
  std::array<char, 12> pid{}, tid{};
  write_number(pid.data(), static_cast<unsigned>(::getpid()));
  write_number(tid.data(), static_cast<unsigned>(::gettid()));
  int go[2];
  if (::pipe2(go, O_CLOEXEC) == 0) {
    const pid_t child = ::_Fork();
    if (child == 0) {
      char byte = 0;
      ::close(go[1]);
      while (::read(go[0], &byte, 1) < 0 && errno == EINTR) {
      }  // until we may trace it
      const char* const arguments[] = {"crash_handler", "--report", pid.data(), tid.data(), nullptr};
      ::execve("/proc/self/exe", const_cast<char* const*>(arguments), environ);
      ::_exit(127);
    }
    if (child > 0) {
      ::prctl(PR_SET_PTRACER, child, 0, 0, 0);  // needed where kernel.yama.ptrace_scope is 1
      ::close(go[1]);
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  errno = saved_errno;
  ::raise(signal);  // SA_RESETHAND: now it ends us as it would have, core and all
}

void install_crash_handler() {
  // A stack of its own, or the handler could not run after a stack overflow.
  static std::array<char, 64 << 10> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

/// What the child does: all threads, the crashed one first.
int report(unsigned pid, unsigned crashed) {
  auto session = mixstack::Session::open_process(pid);
  if (!session) {
    std::printf("cannot look at %u: %s\n", pid, mixstack::describe(session.error()).c_str());
    return 1;
  }
  mixstack::DumpOptions options;
  options.walk.max_frames = 64;                    // a stack that overflowed is long
  options.stop_timeout = std::chrono::seconds(5);  // nothing is lost by waiting here
  const auto dump = (*session)->dump(options);
  if (!dump) return 1;
  for (const bool first : {true, false})
    for (const mixstack::ThreadDump& thread : dump->threads)
      if ((thread.tid == crashed) == first) {
        if (first) std::printf("crashed: ");
        examples::print_stack(*dump, thread);
      }
  return 0;
}

[[gnu::noinline]] int recurse(volatile int* up) {
  volatile int here[256] = {*up + 1};
  return here[0] < 0 ? 0 : recurse(here) + here[0];
}

[[gnu::noinline]] void crash(const char* how) {
  int start = 0;
  if (std::strcmp(how, "segv") == 0) *const_cast<volatile int*>(static_cast<int*>(nullptr)) = 1;
  if (std::strcmp(how, "overflow") == 0) std::printf("%d\n", recurse(&start));
  std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 4 && std::strcmp(arguments[1], "--report") == 0)
    return report(static_cast<unsigned>(std::atoi(arguments[2])), static_cast<unsigned>(std::atoi(arguments[3])));
  if (count != 2) {
    std::fprintf(stderr, "usage: crash_handler segv|abort|overflow\n");
    return 2;
  }
  install_crash_handler();
  crash(arguments[1]);
}
