#include "features/record/target_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/system/number.h"
#include "base/system/small_file.h"

namespace mixstack::record {

std::string name_of_thread(std::uint32_t pid, ThreadId tid) {
  std::string name = base::text_at("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm", 1);
  if (name.ends_with('\n')) name.pop_back();  // only the last newline is the kernel's
  return name;
}

std::uint64_t cpu_ns_of_thread(std::uint32_t pid, ThreadId tid) {
  const std::string text =
      base::text_at("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/schedstat", 1);
  std::string_view rest = text;
  return base::leading_number<std::uint64_t>(rest).value_or(0);
}

/// The first thread of a process may end before the others.
bool has_ended(const base::ScopedFd& folder) {
  struct stat tasks {};
  if (::fstatat(folder.get(), "task", &tasks, 0) != 0) return true;
  if (tasks.st_nlink > 3) return false;
  const base::ScopedFd file(::openat(folder.get(), "stat", O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT || errno == ESRCH;  // not when we lack file descriptors, for example
  std::array<char, 512> room{};
  const ssize_t got = ::read(file.get(), room.data(), room.size());
  if (got < 0) return errno == ESRCH;
  const std::string line(room.data(), static_cast<std::size_t>(got));
  const std::size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || line.substr(name_end + 2, 1).find_first_of("ZX") != std::string::npos;
}

}  // namespace mixstack::record
