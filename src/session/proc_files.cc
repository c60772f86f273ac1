#include "session/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/system/scoped_fd.h"

namespace mixstack::session {

std::string link_at(const std::string& path) {
  std::array<char, 256> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string file_at(const std::string& path, std::size_t most) {
  const base::ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1 << 14> piece{};
  while (fd && text.size() < most) {
    const ssize_t size = ::read(fd.get(), piece.data(), piece.size());
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string comm_of(std::uint32_t pid) {
  std::string name = file_at(fmt::format("/proc/{}/comm", pid), 64);
  while (name.ends_with('\n')) name.pop_back();
  return name;
}

std::optional<std::uint64_t> inode_of(std::string_view link, std::string_view kind) {
  if (!link.starts_with(kind) || !link.ends_with(']')) return std::nullopt;
  return number<std::uint64_t>(link.substr(kind.size(), link.size() - kind.size() - 1));
}

int mode_of(const std::string& process, std::string_view fd) {
  const std::string text = file_at(fmt::format("{}/fdinfo/{}", process, fd), 4096);
  const std::size_t at = text.find("flags:");
  if (at == std::string::npos) return O_RDWR;
  const std::size_t begin = text.find_first_of("01234567", at), end = text.find('\n', begin);
  if (begin == std::string::npos) return O_RDWR;
  return number<int>(std::string_view(text).substr(begin, end - begin), 8).value_or(O_RDWR) & O_ACCMODE;
}

}  // namespace mixstack::session
