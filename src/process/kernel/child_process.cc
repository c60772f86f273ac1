#include "process/kernel/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <sstream>

#include "base/system/trusted_file.h"

namespace mixstack::process {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  base::ScopedFd read;
  base::ScopedFd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::io_error, 0, errno);
  return Pipe{base::ScopedFd(ends[0]), base::ScopedFd(ends[1])};
}

/// The child's descriptor of its own program. Beyond the standard streams, and left open: scripts are opened by this
/// name.
constexpr int kProgram = 9;
constexpr const char* kProgramPath = "/proc/self/fd/9";

int spawn(const base::TrustedFile& program, const std::vector<std::string>& arguments, int out, int err, pid_t& pid) {
  std::vector<std::string> words{program.path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  if (::posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  const std::unique_ptr<posix_spawn_file_actions_t, int (*)(posix_spawn_file_actions_t*)> drop_actions(
      &actions, ::posix_spawn_file_actions_destroy);
  if (::posix_spawnattr_init(&attributes) != 0) return ENOMEM;
  const std::unique_ptr<posix_spawnattr_t, int (*)(posix_spawnattr_t*)> drop_attributes(&attributes,
                                                                                        ::posix_spawnattr_destroy);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (err >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions, program.fd.get(), kProgram);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return ::posix_spawn(&pid, kProgramPath, &actions, &attributes, argv.data(), environ);
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

/// Reads the bytes that are there; false at the end.
bool take_some(int fd, std::string& text, std::size_t limit) {
  std::array<char, 4096> piece;
  const auto n = ::read(fd, piece.data(), piece.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  const std::size_t room = limit - std::min(limit, text.size());
  text.append(piece.data(), std::min(room, static_cast<std::size_t>(n)));
  return n > 0;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& search_path) {
  std::istringstream folders(search_path);
  std::string refused;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || folder[0] != '/') continue;
    const std::string path = folder + "/" + name;
    const auto program = base::open_trusted_file(path);
    if (program && ::access(path.c_str(), X_OK) == 0) return path;
    if (!program && refused.empty() && program.error().error == Error{ErrorCode::permission_denied, 0, 0})
      refused = path;
  }
  return refused;
}

tl::expected<ChildProcess, Diagnosis> ChildProcess::start(const std::string& program,
                                                          const std::vector<std::string>& arguments,
                                                          ChildErrors errors) {
  const auto failed = [&](const Error& error) {
    return tl::unexpected(Diagnosis{error, program, "cannot be started"});
  };
  auto file = base::open_trusted_file(program);
  if (!file) return tl::unexpected(file.error());
  // Above the number it gets in the child, so that it is copied there and stays open.
  base::ScopedFd raised(::fcntl(file->fd.get(), F_DUPFD_CLOEXEC, kProgram + 1));
  if (!raised) return failed({ErrorCode::io_error, errno, 0});
  file->fd = std::move(raised);
  auto out = make_pipe();
  auto err = errors == ChildErrors::keep ? make_pipe() : Pipe{};
  if (!out) return failed(out.error());
  if (!err) return failed(err.error());
  ChildProcess child;
  const int error = spawn(*file, arguments, out->write.get(), err->write.get(), child.pid_);
  if (error != 0) {
    child.pid_ = -1;
    return failed({ErrorCode::io_error, error, 0});
  }
  child.out_ = std::move(out->read);
  child.err_ = std::move(err->read);
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)), err_(std::move(other.err_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::read_all(ChildOutput& result, Clock::time_point end, std::size_t limit) {
  std::array<pollfd, 2> ends{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const int left = milliseconds_until(end);
    const int ready = left == 0 ? 0 : ::poll(ends.data(), ends.size(), left);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      result.timed_out = true;
      return;
    }
    if (ends[0].revents != 0 && !take_some(ends[0].fd, result.out, limit)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !take_some(ends[1].fd, result.err, limit)) ends[1].fd = -1;
  }
}

bool ChildProcess::reap(Clock::time_point end, int& status) {
  while (true) {
    const auto r = ::waitpid(pid_, &status, WNOHANG);
    if (r == pid_ || (r < 0 && errno != EINTR)) {
      pid_ = -1;
      return r > 0;
    }
    if (milliseconds_until(end) == 0) return false;
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

ChildOutput ChildProcess::finish(std::chrono::milliseconds timeout, std::size_t limit) {
  ChildOutput result;
  const auto end = Clock::now() + timeout;
  read_all(result, end, limit);
  int status = 0;
  if (!result.timed_out && reap(end, status)) {
    result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  } else {
    result.timed_out = pid_ > 0;
  }
  return result;
}

}  // namespace mixstack::process
