#include "process/self/helper_capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/memory/system_call.h"
#include "base/system/scoped_fd.h"
#include "process/live/live_target.h"
#include "process/self/capture_wire.h"

namespace mixstack::process {
namespace {

using Clock = std::chrono::steady_clock;
using memory::system_call;
constexpr std::size_t kMostBytes = std::size_t{4} << 30;
constexpr int kTries = 4;
constexpr int kClonesOnly = static_cast<int>(__WCLONE);

struct Pipe {
  base::ScopedFd read, write;
};
[[nodiscard]] Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::io_error, 0, errno);
  return Pipe{base::ScopedFd(ends[0]), base::ScopedFd(ends[1])};
}

/// Blocks every signal, so that no handler of the process runs in the child.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

[[nodiscard]] bool yama_restricts() {
  const base::ScopedFd fd(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char scope = '0';
  return fd && ::read(fd.get(), &scope, 1) == 1 && scope == '1';
}

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

/// In the child: never returns.
[[noreturn]] void run_child(std::uint32_t parent, const CaptureRequest& request, int go, int out) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) (void)::signal(fault, SIG_DFL);
  char byte = 0;
  if (::read(go, &byte, 1) == 1) {
    Result<Capture> capture = fail(ErrorCode::internal);
    {
      auto target = open_live(parent);
      capture = target ? (*target)->capture(request) : fail(target.error());
    }
    const auto wire = to_wire(capture);
    const std::uint64_t size = wire.size();
    write_all(out, std::as_bytes(std::span<const std::uint64_t, 1>(&size, 1)));
    write_all(out, wire);
  }
  for (;;) (void)system_call(SYS_exit_group, 0);
}

[[nodiscard]] bool read_all(int fd, std::span<std::byte> out, Clock::time_point deadline) {
  while (!out.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t n = ::read(fd, out.data(), out.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) out = out.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

[[nodiscard]] Result<Capture> receive(int fd, Clock::time_point deadline) {
  std::uint64_t size = 0;
  if (!read_all(fd, std::as_writable_bytes(std::span<std::uint64_t, 1>(&size, 1)), deadline))
    return fail(ErrorCode::thread_not_stopped);
  if (size > kMostBytes) return fail(ErrorCode::malformed, size);
  std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size]);
  if (bytes == nullptr) return fail(ErrorCode::limit_exceeded, size, ENOMEM);
  if (!read_all(fd, std::span(bytes.get(), size), deadline)) return fail(ErrorCode::thread_not_stopped);
  return from_wire(std::move(bytes), size);
}

[[nodiscard]] Result<Capture> try_once(const CaptureRequest& request, Clock::time_point deadline) {
  auto go = make_pipe();
  auto data = make_pipe();
  if (!go || !data) return fail(go ? data.error() : go.error());
  const auto parent = static_cast<std::uint32_t>(::getpid());
  std::int64_t child = 0;
  {
    const AllSignalsBlocked blocked;
    // No flags, no exit signal: what fork does, without what libc and the parent of a child notice of it.
    child = system_call(SYS_clone);
    if (child == 0) run_child(parent, request, go->read.get(), data->write.get());
  }
  if (child < 0) return fail(ErrorCode::io_error, 0, static_cast<int>(-child));
  data->write = {};
  const bool lets_it = yama_restricts();
  if (lets_it) (void)::prctl(PR_SET_PTRACER, static_cast<unsigned long>(child), 0UL, 0UL, 0UL);
  write_all(go->write.get(), std::array<std::byte, 1>{});
  auto capture = receive(data->read.get(), deadline);
  (void)::kill(static_cast<pid_t>(child), SIGKILL);
  int status = 0;
  while (::waitpid(static_cast<pid_t>(child), &status, kClonesOnly) < 0 && errno == EINTR) {
  }
  if (lets_it) (void)::prctl(PR_SET_PTRACER, 0UL, 0UL, 0UL, 0UL);
  return capture;
}

}  // namespace

Result<Capture> capture_by_helper(const CaptureRequest& request, std::chrono::milliseconds timeout) {
  const auto begin = Clock::now();
  for (int i = 1;; i++) {
    auto capture = try_once(request, begin + timeout * i / kTries);
    const bool answered = capture || capture.error().code != ErrorCode::thread_not_stopped;
    if (answered || i == kTries) return capture;
  }
}

}  // namespace mixstack::process
