#include "cli/thread_cpu.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>

#include "base/scoped_fd.h"

namespace mixstack::cli {

// The first number of schedstat is time on processors in ns (Documentation/scheduler/sched-stats.rst of the kernel).
std::optional<std::chrono::nanoseconds> thread_cpu(std::uint32_t pid, std::uint32_t tid) {
  const base::ScopedFd file(::open(fmt::format("/proc/{}/task/{}/schedstat", pid, tid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  std::int64_t cpu = -1;
  if (size <= 0 || std::from_chars(text.data(), text.data() + size, cpu).ec != std::errc{}) return std::nullopt;
  return std::chrono::nanoseconds(cpu);
}

std::optional<std::chrono::nanoseconds> process_cpu(std::uint32_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace mixstack::cli
