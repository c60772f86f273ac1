#include "base/system/proc_mount.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/system/scoped_fd.h"

namespace mixstack::base {
namespace {

constexpr std::uint64_t kMark = 0x5052'4f43'4e53'0000;  // "PROCNS"

/// The numbers behind "\nKey:" up to the end of the line.
struct Numbers {
  std::uint32_t first = 0;
  std::size_t count = 0;
};

[[nodiscard]] Numbers numbers_of(std::string_view status, std::string_view key) {
  Numbers found;
  const std::size_t at = status.find(key);
  if (at == std::string_view::npos) return found;
  std::string_view line = status.substr(at + key.size());
  line = line.substr(0, line.find('\n'));
  for (;;) {
    const std::size_t skip = line.find_first_not_of(" \t");
    if (skip == std::string_view::npos) return found;
    line.remove_prefix(skip);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc{}) return found;
    if (found.count++ == 0) found.first = value;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
}

[[nodiscard]] bool is_proc_mounted() {
  constexpr auto kProcMagic = 0x9fa0;  // PROC_SUPER_MAGIC, linux/magic.h
  struct statfs fs {};
  return ::statfs("/proc", &fs) == 0 && fs.f_type == kProcMagic;
}

}  // namespace

bool is_status_of_other_namespace(std::string_view status, std::uint32_t own_pid) {
  const Numbers group = numbers_of(status, "\nTgid:"), inner = numbers_of(status, "\nNSpid:");
  // The number alone could be the same by chance in both namespaces. (Kernels before 4.1 have no NSpid.)
  return (group.count != 0 && group.first != own_pid) || inner.count > 1;
}

bool is_proc_of_other_pid_namespace() {
  const ScopedFd fd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  // proc_self_get_link() (fs/proc/self.c) answers ENOENT to a process that has no number in the namespace.
  if (!fd) return errno == ENOENT && is_proc_mounted();
  std::array<char, 4096> text;  // both lines are among the first ten
  const ssize_t n = ::read(fd.get(), text.data(), text.size());
  return n > 0 && is_status_of_other_namespace({text.data(), static_cast<std::size_t>(n)},
                                               static_cast<std::uint32_t>(::getpid()));
}

Error other_pid_namespace_error() { return {ErrorCode::unsupported, 0, kMark}; }

}  // namespace mixstack::base
