#include "session/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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

std::optional<int> mode_of(const std::string& process, std::string_view fd) {
  const std::string text = "\n" + file_at(fmt::format("{}/fdinfo/{}", process, fd), 4096);
  constexpr std::string_view kKey = "\nflags:";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(" \t", at + kKey.size());
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  const auto flags = number<int>(std::string_view(text).substr(begin, end - begin), 8);
  if (!flags || (*flags & O_PATH) != 0 || (*flags & O_ACCMODE) == O_ACCMODE) return std::nullopt;
  return *flags & O_ACCMODE;
}

}  // namespace mixstack::session
