#include "features/why/thread_clocks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/system/number.h"
#include "base/system/scoped_fd.h"

namespace mixstack::why {

namespace {

std::string_view read_small(int tasks, std::uint32_t tid, const char* name, std::span<char> text) {
  std::array<char, 64> path{};
  *fmt::format_to_n(path.data(), path.size() - 1, "{}/{}", tid, name).out = '\0';
  const base::ScopedFd file(::openat(tasks, path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  return {text.data(), size <= 0 ? 0 : static_cast<std::size_t>(size)};
}

}  // namespace

ThreadClocks::ThreadClocks(std::uint32_t pid)
    : tasks_(::open(fmt::format("/proc/{}/task", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

// The first number of schedstat is time on processors in ns (Documentation/scheduler/sched-stats.rst of the kernel).
std::optional<std::chrono::nanoseconds> ThreadClocks::cpu(std::uint32_t tid) const {
  std::array<char, 64> buffer{};
  const std::string_view text = read_small(tasks_.get(), tid, "schedstat", buffer);
  const auto cpu = base::leading_number<std::int64_t>(text);
  return cpu ? std::optional(std::chrono::nanoseconds(*cpu)) : std::nullopt;
}

// "tid (name) state ..." (proc_pid_stat(5)): a name may have brackets.
bool ThreadClocks::is_runnable(std::uint32_t tid) const {
  std::array<char, 256> buffer{};
  const std::string_view text = read_small(tasks_.get(), tid, "stat", buffer);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string_view::npos && text.substr(name_end + 2).starts_with('R');
}

}  // namespace mixstack::why
