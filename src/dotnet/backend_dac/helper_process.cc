#include "dotnet/backend_dac/helper_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace mixstack::dotnet::dac {
namespace {

mixstack::Diagnosis cannot_start(const std::string& program, int error, const char* what) {
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : ErrorCode::io_error;
  return {{code, error, 0}, program, what};
}

/// Above the numbers that the child's own descriptors get, so that none is overwritten before it is copied.
base::ScopedFd raised(int fd) { return base::ScopedFd(::fcntl(fd, F_DUPFD_CLOEXEC, 16)); }

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

/// Where the child finds its own program; closed by it before anything else.
constexpr int kHelperProgram = kHelperDac + 1;
constexpr const char* kProgramPath = "/proc/self/fd/5";
static_assert(kHelperProgram == 5);

void prepare(SpawnSettings& settings, int socket, int dac, int program) {
  ::posix_spawn_file_actions_adddup2(&settings.actions, socket, kHelperSocket);
  ::posix_spawn_file_actions_adddup2(&settings.actions, dac, kHelperDac);
  ::posix_spawn_file_actions_adddup2(&settings.actions, program, kHelperProgram);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, kHelperProgram + 1);
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

}  // namespace

Outcome<HelperProcess> HelperProcess::start(const base::TrustedFile& program, const base::ScopedFd& dac) {
  const std::string& name = program.path;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return tl::unexpected(cannot_start(name, errno, "no socket pair"));
  base::ScopedFd ours(ends[0]), theirs(ends[1]);
  const base::ScopedFd socket = raised(theirs.get()), file = raised(dac.get()), code = raised(program.fd.get());
  if (!socket || !file || !code) return tl::unexpected(cannot_start(name, errno, "no descriptors left"));

  SpawnSettings settings;
  prepare(settings, socket.get(), file.get(), code.get());
  std::string path = name, serve = "--serve", parent = std::to_string(::getpid());
  std::array<char*, 4> arguments{path.data(), serve.data(), parent.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  HelperProcess helper;
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, kProgramPath, &settings.actions, &settings.attributes, arguments.data(), environment.data());
  if (error != 0) return tl::unexpected(cannot_start(name, error, "the helper could not be started"));
  helper.pid_ = pid;
  helper.channel_ = MessageChannel(std::move(ours));
  return helper;
}

std::string HelperProcess::end() {
  if (pid_ <= 0) return "not running";
  channel_ = {};
  int status = 0;
  pid_t done = 0;
  // One that crashed has closed its socket a moment before it can be waited for.
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

HelperProcess::~HelperProcess() {
  if (pid_ > 0) end();
}

Outcome<base::TrustedFile> find_helper(const std::string& path) {
  if (!path.empty()) return base::open_trusted_file(path);
  mixstack::Diagnosis none{
      {ErrorCode::not_found, 0, 0}, "mixstack-helper", "needed for the DAC; install it beside mixstack"};
  std::array<char, 4096> buffer{};
  const ssize_t n = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (n <= 0 || static_cast<std::size_t>(n) == buffer.size()) return tl::unexpected(std::move(none));
  std::string folder(buffer.data(), static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/') + 1);
  for (const char* place : {"mixstack-helper", "../libexec/mixstack/mixstack-helper"}) {
    const std::string candidate = folder + place;
    if (::access(candidate.c_str(), F_OK) != 0) continue;  // only for the words: else /tmp would be blamed
    auto program = base::open_trusted_file(candidate);
    if (program) return program;
    if (none.error.code == ErrorCode::not_found) none = program.error();
  }
  return tl::unexpected(std::move(none));
}

}  // namespace mixstack::dotnet::dac
