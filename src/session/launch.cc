#include "session/launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "base/scoped_fd.h"

namespace mixstack::session {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& t : texts) list.push_back(const_cast<char*>(t.c_str()));
  list.push_back(nullptr);
  return list;
}

/// posix_spawn returns when the child has left our memory, which is before the kernel has written the auxiliary vector
/// of its new program. What is opened earlier looks like another program a moment later.
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

}  // namespace

Result<std::uint32_t> launch(const LaunchOptions& options) {
  if (options.arguments.empty()) return fail(ErrorCode::invalid_argument);
  const auto arguments = pointers(options.arguments);
  const auto environment = pointers(options.environment);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments.front(), nullptr, nullptr, arguments.data(),
                                   options.environment.empty() ? environ : environment.data());
  if (error != 0) return fail(ErrorCode::io_error, 0, error);
  wait_for_program(pid);
  return static_cast<std::uint32_t>(pid);
}

}  // namespace mixstack::session
