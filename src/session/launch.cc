#include "session/launch.h"

#include <spawn.h>
#include <unistd.h>

namespace mixstack::session {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& t : texts) list.push_back(const_cast<char*>(t.c_str()));
  list.push_back(nullptr);
  return list;
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
  return static_cast<std::uint32_t>(pid);
}

}  // namespace mixstack::session
