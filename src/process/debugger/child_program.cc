#include "process/debugger/child_program.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

namespace mixstack::process {
namespace {

/// Everything the child needs, made before the fork: a copy of a process of many threads may not allocate.
struct Plan {
  std::vector<char*> arguments, environment;
  std::vector<LaunchRequest::Descriptor> descriptors;
  std::vector<int> spares;
  const char* executable = nullptr;
  const char* directory = nullptr;
  int lowest_spare = 3;  // above every number that is asked for
  int gate = -1;
  int gate_of_tracer = -1;
  int failure = -1;
};

[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

__attribute__((no_sanitize("thread", "address", "undefined"), noinline)) bool place_descriptors(const Plan& plan,
                                                                                                int* spares) {
  const LaunchRequest::Descriptor* wanted = plan.descriptors.data();
  const std::size_t count = plan.descriptors.size();
  // First copy them above all wanted numbers, then to their numbers: one's number may be another's source.
  for (std::size_t i = 0; i < count; i++) {
    if (wanted[i].of_host < 0) continue;
    spares[i] = static_cast<int>(::syscall(SYS_fcntl, wanted[i].of_host, F_DUPFD_CLOEXEC, plan.lowest_spare));
    if (spares[i] < 0) return false;
  }
  for (std::size_t i = 0; i < count; i++) {
    if (wanted[i].of_host < 0)
      (void)::syscall(SYS_close, wanted[i].in_child);
    else if (::syscall(SYS_dup3, spares[i], wanted[i].in_child, 0) < 0)
      return false;
  }
  return true;
}

/// The forked child. Plain system calls only.
__attribute__((no_sanitize("thread", "address", "undefined"), noinline, noreturn)) void be_child(const Plan& plan,
                                                                                                 int* spares) {
  char byte = 0;
  (void)::syscall(SYS_close, plan.gate_of_tracer);
  // The read ends when the tracer lets us through, or has died (then this program is not wanted).
  if (::syscall(SYS_read, plan.gate, &byte, 1) == 1) {
    const unsigned long none = 0;
    (void)::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
    const bool placed = place_descriptors(plan, spares);
    if (placed && (plan.directory == nullptr || ::syscall(SYS_chdir, plan.directory) == 0))
      (void)::syscall(SYS_execve, plan.executable, plan.arguments.data(), plan.environment.data());
    const int error = errno;
    (void)::syscall(SYS_write, plan.failure, &error, sizeof error);
  }
  for (;;) ::syscall(SYS_exit_group, 127);
}

struct Pipe {
  base::ScopedFd out, in;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    out = base::ScopedFd(ends[0]);
    in = base::ScopedFd(ends[1]);
  }
};

[[nodiscard]] int lowest_spare(const LaunchRequest& request) {
  int highest = 2;
  for (const auto& d : request.descriptors) highest = std::max(highest, d.in_child);
  return highest + 1;
}

}  // namespace

Result<ChildProgram> ChildProgram::fork(const LaunchRequest& request) {
  Pipe gate, failure;
  if (!gate.in || !failure.in) return fail(ErrorCode::io_error, 0, errno);
  Plan plan;
  plan.lowest_spare = lowest_spare(request);
  // Placing the child's descriptors must not close ours.
  const base::ScopedFd gate_out(::fcntl(gate.out.get(), F_DUPFD_CLOEXEC, plan.lowest_spare));
  const base::ScopedFd failure_in(::fcntl(failure.in.get(), F_DUPFD_CLOEXEC, plan.lowest_spare));
  if (!gate_out || !failure_in) return fail(ErrorCode::io_error, 0, errno);
  std::vector<std::string> arguments = request.arguments;
  if (arguments.empty()) arguments.push_back(request.executable);
  plan.arguments = pointers_to(arguments);
  std::vector<std::string> environment = request.environment.value_or(std::vector<std::string>());
  plan.environment = pointers_to(environment);
  if (!request.environment) {
    plan.environment.clear();
    for (char** e = environ; e != nullptr && *e != nullptr; e++) plan.environment.push_back(*e);
    plan.environment.push_back(nullptr);
  }
  plan.descriptors = request.descriptors;
  plan.spares.resize(plan.descriptors.size(), -1);
  plan.executable = request.executable.c_str();
  plan.directory = request.working_directory.empty() ? nullptr : request.working_directory.c_str();
  plan.gate = gate_out.get();
  plan.gate_of_tracer = gate.in.get();
  plan.failure = failure_in.get();
  // The C library's fork would run the host's atfork handlers in the tracer.
  const long pid = ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid < 0) return fail(ErrorCode::io_error, 0, errno);
  if (pid == 0) be_child(plan, plan.spares.data());
  ChildProgram child;
  child.pid_ = static_cast<pid_t>(pid);
  child.gate_ = std::move(gate.in);
  child.failure_ = std::move(failure.out);
  // A child that the host forked in between may hold the write end open: a read must not wait for it.
  (void)::fcntl(child.failure_.get(), F_SETFL, O_NONBLOCK);
  return child;
}

void ChildProgram::let_through() {
  const char byte = 1;
  (void)!::write(gate_.get(), &byte, 1);
  gate_ = {};
}

Error ChildProgram::failure() const {
  int error = 0;
  if (::read(failure_.get(), &error, sizeof error) != sizeof error) return {ErrorCode::no_such_process, 0, 0};
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::not_found, error, 0};
    case EACCES:
    case EPERM:
      return {ErrorCode::permission_denied, error, 0};
    case ENOEXEC:
    case ELIBBAD:
      return {ErrorCode::unsupported, error, 0};
    default:
      return {ErrorCode::io_error, error, 0};
  }
}

}  // namespace mixstack::process
