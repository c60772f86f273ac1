#include "process/debugger/report_loop.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;
constexpr auto kSlice = 2ms;  // between looks at what the kernel does not report
constexpr std::size_t kBatch = 4096;
constexpr std::size_t kMostCollected = 65'536;

}  // namespace

Result<void> ReportLoop::set_up() {
  // Signals of a process reach its own signalfd only: the host never sees these.
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  child_signals_ = base::ScopedFd(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!child_signals_) return fail(ErrorCode::internal, 0, errno);
  collected_.resize(kMostCollected);
  return seize_watch_.set_up();
}

void ReportLoop::wait(std::chrono::milliseconds at_most, int wake) {
  std::array<pollfd, 2> sources{{{child_signals_.get(), POLLIN, 0}, {wake, POLLIN, 0}}};
  (void)::poll(sources.data(), sources.size(), static_cast<int>(at_most.count()));
  signalfd_siginfo signal;
  while (::read(child_signals_.get(), &signal, sizeof signal) > 0) {
  }
}

/// Runs in a signal handler.
__attribute__((no_sanitize("thread", "address", "undefined"))) void ReportLoop::collect() {
  for (std::size_t count = count_; count < kMostCollected; count++) {
    RawReport& report = collected_.data()[count];
    report.tid = static_cast<pid_t>(::syscall(SYS_wait4, -1, &report.status, __WALL | WNOHANG, nullptr));
    if (report.tid <= 0) return;
    count_ = count + 1;
  }
}

void ReportLoop::turn() {
  batch_.clear();
  for (std::size_t i = 0; i < count_; i++)
    batch_.push_back(decode_wait_status(static_cast<ThreadId>(collected_[i].tid), collected_[i].status));
  count_ = 0;
  while (batch_.size() < kBatch) {
    const auto report = take_report();
    if (!report) break;
    batch_.push_back(*report);
  }
  for (const auto& report : batch_) handle_(report);
}

bool ReportLoop::is_behind() const { return batch_.size() >= kBatch; }

bool ReportLoop::wait_until(const std::function<bool()>& done, Clock::time_point deadline) {
  for (;;) {
    turn();
    if (done()) return true;
    if (Clock::now() >= deadline) return false;
    wait(kSlice, -1);
  }
}

}  // namespace mixstack::process
