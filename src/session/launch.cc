#include "session/launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/system/scoped_fd.h"

namespace mixstack::session {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& t : texts) list.push_back(const_cast<char*>(t.c_str()));
  list.push_back(nullptr);
  return list;
}

/// posix_spawn returns when the child has left our memory, which is before the kernel has written the auxiliary vector
/// of its new program. A session opened earlier would see another program a moment later.
void wait_for_program(pid_t pid) {
  constexpr int kTries = 1000;
  const std::string path = "/proc/" + std::to_string(pid) + "/auxv";
  for (int i = 0; i < kTries; i++) {
    const base::ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::uint64_t first = 0;
    if (!fd || (::pread(fd.get(), &first, sizeof first, 0) == sizeof first && first != 0)) return;
    ::usleep(1000);
  }
}

/// The caller may block the signals that end it, so that it ends in good order. The program must not inherit that
/// mask.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    is_made_ = ::posix_spawnattr_init(&attributes_) == 0;
    sigset_t mask;
    if (!is_made_ || ::pthread_sigmask(SIG_SETMASK, nullptr, &mask) != 0) return;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) (void)sigdelset(&mask, signal);
    (void)::posix_spawnattr_setsigmask(&attributes_, &mask);
    (void)::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnAttributes() {
    if (is_made_) (void)::posix_spawnattr_destroy(&attributes_);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return is_made_ ? &attributes_ : nullptr; }

 private:
  posix_spawnattr_t attributes_;
  bool is_made_ = false;
};

/// Rights of this thread alone: the system calls themselves, where libc's functions change those of all threads. A
/// child inherits those of the thread that starts it.
int become(const base::User& user) {
  const std::vector<gid_t> groups(user.groups.begin(), user.groups.end());
  if (::syscall(SYS_setgroups, groups.size(), groups.data()) != 0) return errno;
  if (::syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return errno;
  return ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0 ? errno : 0;
}

std::vector<std::string> environment_of(const base::User& user, const LaunchOptions& options) {
  std::vector<std::string> variables = options.environment;
  if (variables.empty())
    for (char** v = environ; v != nullptr && *v != nullptr; v++) variables.emplace_back(*v);
  const auto set = [&variables](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    std::erase_if(variables, [&name](const std::string& v) { return v.starts_with(name); });
    variables.push_back(name + value);
  };
  set("HOME=", user.home);
  set("USER=", user.name);
  set("LOGNAME=", user.name);
  return variables;
}

int spawn(pid_t& pid, const LaunchOptions& options, const std::vector<std::string>& variables) {
  const auto arguments = pointers(options.arguments);
  const auto environment = pointers(variables);
  const SpawnAttributes attributes;
  return ::posix_spawnp(&pid, arguments.front(), nullptr, attributes.get(), arguments.data(),
                        variables.empty() ? environ : environment.data());
}

}  // namespace

Result<std::uint32_t> launch(const LaunchOptions& options, const std::optional<base::User>& user) {
  if (options.arguments.empty()) return fail(ErrorCode::invalid_argument);
  pid_t pid = -1;
  int error = 0;
  if (user) {
    std::thread starter([&] {
      error = become(*user);
      if (error == 0) error = spawn(pid, options, environment_of(*user, options));
    });
    starter.join();
  } else {
    error = spawn(pid, options, options.environment);
  }
  if (error != 0) return fail(ErrorCode::io_error, 0, error);
  wait_for_program(pid);
  return static_cast<std::uint32_t>(pid);
}

}  // namespace mixstack::session
