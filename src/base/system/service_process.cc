#include "base/system/service_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace mixstack::base {
namespace {

Diagnosis cannot_start(const std::string& program, int error, const char* what) {
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : ErrorCode::io_error;
  return {{code, error, 0}, program, what};
}

/// Above the numbers that the child's own descriptors get, so that none is overwritten before it is copied.
ScopedFd raised(int fd) { return ScopedFd(::fcntl(fd, F_DUPFD_CLOEXEC, 16)); }

/// posix_spawn's two bundles, destroyed in any case.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

/// The descriptors become 3, 4, ...; the last of them is the program, closed by it before anything else.
void prepare(SpawnSettings& settings, std::span<const ScopedFd> descriptors) {
  int number = kServiceSocket;
  for (const ScopedFd& fd : descriptors) ::posix_spawn_file_actions_adddup2(&settings.actions, fd.get(), number++);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, number);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &all);
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  ::posix_spawnattr_setflags(&settings.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::strsignal(WTERMSIG(status));
    return "ended by signal " + std::to_string(WTERMSIG(status)) +
           (name != nullptr ? " (" + std::string(name) + ")" : "");
  }
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

tl::expected<ServiceProcess, Diagnosis> ServiceProcess::start(const TrustedFile& program, std::span<const int> files,
                                                              std::vector<std::string> environment) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return tl::unexpected(cannot_start(program.path, errno, "no socket pair"));
  ScopedFd ours(ends[0]), theirs(ends[1]);
  std::vector<ScopedFd> descriptors;
  descriptors.push_back(raised(theirs.get()));
  for (const int fd : files) descriptors.push_back(raised(fd));
  descriptors.push_back(raised(program.fd.get()));
  for (const ScopedFd& fd : descriptors)
    if (!fd) return tl::unexpected(cannot_start(program.path, errno, "no descriptors left"));

  SpawnSettings settings;
  prepare(settings, descriptors);
  std::vector<std::string> arguments{program.path, "--serve", std::to_string(::getpid())};
  const std::string path = "/proc/self/fd/" + std::to_string(kServiceSocket + static_cast<int>(descriptors.size()) - 1);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), &settings.actions, &settings.attributes,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  if (error != 0) return tl::unexpected(cannot_start(program.path, error, "it could not be started"));
  ServiceProcess process;
  process.pid_ = pid;
  process.socket_ = std::move(ours);
  return process;
}

std::string ServiceProcess::end() {
  if (pid_ <= 0) return "not running";
  socket_ = {};
  int status = 0;
  pid_t done = 0;
  // A crashed child closes its socket a moment before it can be waited for.
  for (int i = 0; i < 20 && (done = ::waitpid(pid_, &status, WNOHANG)) == 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::string text = done == pid_ ? how_it_ended(status) : "was ended";
  if (done == 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  return text;
}

ServiceProcess::~ServiceProcess() {
  if (pid_ > 0) end();
}

tl::expected<TrustedFile, Diagnosis> find_service(const std::string& name, const std::string& needed_for,
                                                  const std::string& path) {
  if (!path.empty()) return open_trusted_file(path);
  Diagnosis none{{ErrorCode::not_found, 0, 0}, name, "needed for " + needed_for + "; install it beside mixstack"};
  std::array<char, 4096> buffer{};
  const ssize_t n = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (n <= 0 || static_cast<std::size_t>(n) == buffer.size()) return tl::unexpected(std::move(none));
  std::string folder(buffer.data(), static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/') + 1);
  for (const char* place : {"", "../libexec/mixstack/"}) {
    const std::string candidate = folder + place + name;
    if (::access(candidate.c_str(), F_OK) != 0) continue;  // only for the diagnosis: else it would blame /tmp
    auto program = open_trusted_file(candidate);
    if (program) return program;
    if (none.error.code == ErrorCode::not_found) none = program.error();
  }
  return tl::unexpected(std::move(none));
}

}  // namespace mixstack::base
