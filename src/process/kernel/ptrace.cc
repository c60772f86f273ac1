#include "process/kernel/ptrace.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace mixstack::process {
namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

/// `code` is signal + (event << 8), as wait and siginfo have it (ptrace(2)).
[[nodiscard]] TraceeReport decode_stop(ThreadId tid, int code) {
  const int signal = code & 0xff;
  switch (code >> 8) {
    case 0:
      if (signal == kSystemCallStop) return {tid, TraceeEvent::system_call};
      return {tid, TraceeEvent::signal, signal};
    case PTRACE_EVENT_STOP:
      if (signal == SIGTRAP) return {tid, TraceeEvent::stop};
      return {tid, TraceeEvent::job_stop, signal};
    case PTRACE_EVENT_CLONE:
      return {tid, TraceeEvent::clone};
    case PTRACE_EVENT_FORK:
      return {tid, TraceeEvent::fork};
    case PTRACE_EVENT_VFORK:
      return {tid, TraceeEvent::vfork};
    case PTRACE_EVENT_EXEC:
      return {tid, TraceeEvent::exec};
    default:
      return {tid, TraceeEvent::other};
  }
}

/// A request that has a number, or nothing, for its data.
[[nodiscard]] bool request(auto what, ThreadId tid, long data = 0) {
  return ::ptrace(what, static_cast<pid_t>(tid), nullptr, reinterpret_cast<void*>(data)) == 0;
}

}  // namespace

TraceeReport decode_wait_status(ThreadId tid, int status) {
  if (WIFSTOPPED(status)) return decode_stop(tid, status >> 8);
  if (WIFSIGNALED(status)) return {tid, TraceeEvent::killed, WTERMSIG(status), WCOREDUMP(status) != 0};
  return {tid, TraceeEvent::exited, WEXITSTATUS(status)};
}

std::optional<TraceeReport> take_report() {
  int status = 0;
  const pid_t tid = ::waitpid(-1, &status, __WALL | WNOHANG);
  if (tid <= 0) return std::nullopt;
  return decode_wait_status(static_cast<ThreadId>(tid), status);
}

std::optional<TraceeReport> peek_report(ThreadId tid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0) {
    if (errno == EINTR) return std::nullopt;
    return TraceeReport{tid, TraceeEvent::gone};
  }
  if (info.si_pid == 0) return std::nullopt;
  if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) return decode_stop(tid, info.si_status);
  if (info.si_code == CLD_EXITED) return TraceeReport{tid, TraceeEvent::exited, info.si_status};
  return TraceeReport{tid, TraceeEvent::killed, info.si_status, info.si_code == CLD_DUMPED};
}

std::optional<TraceeReport> present_stop(ThreadId tid) {
  siginfo_t info{};
  if (::ptrace(PTRACE_GETSIGINFO, static_cast<pid_t>(tid), nullptr, &info) != 0) return std::nullopt;
  return decode_stop(tid, info.si_code > 0xff ? info.si_code : info.si_signo);  // codes of signals are below 256
}

void collect_end(ThreadId tid) {
  int status = 0;
  (void)::waitpid(static_cast<pid_t>(tid), &status, __WALL | WNOHANG);
}

int ptrace_seize(ThreadId tid, long options) { return request(PTRACE_SEIZE, tid, options) ? 0 : errno; }
void ptrace_interrupt(ThreadId tid) { (void)request(PTRACE_INTERRUPT, tid); }
bool ptrace_continue(ThreadId tid, int signal) { return request(PTRACE_CONT, tid, signal); }
bool ptrace_continue_to_system_call(ThreadId tid, int signal) { return request(PTRACE_SYSCALL, tid, signal); }
bool ptrace_step(ThreadId tid, int signal) { return request(PTRACE_SINGLESTEP, tid, signal); }
bool ptrace_listen(ThreadId tid) { return request(PTRACE_LISTEN, tid); }
bool ptrace_detach(ThreadId tid, int signal) { return request(PTRACE_DETACH, tid, signal); }

ThreadId ptrace_new_task(ThreadId tid) {
  unsigned long made = 0;
  if (::ptrace(PTRACE_GETEVENTMSG, static_cast<pid_t>(tid), nullptr, &made) != 0) return 0;
  return static_cast<ThreadId>(made);
}

}  // namespace mixstack::process
