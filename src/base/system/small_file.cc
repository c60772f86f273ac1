#include "base/system/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/system/scoped_fd.h"

namespace mixstack::base {

Result<std::string> read_text(const std::string& path, std::size_t most) {
  const ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(ErrorCode::io_error, 0, errno);
  std::string text;
  std::array<char, 1 << 14> piece{};
  while (text.size() < most) {
    const ssize_t size = ::read(fd.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && text.empty()) return fail(ErrorCode::io_error, 0, errno);
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string text_at(const std::string& path, std::size_t most) { return read_text(path, most).value_or(""); }

std::string line_at(const std::string& path) {
  std::string text = text_at(path, 1);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::string link_at(const std::string& path) {
  std::array<char, 256> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

}  // namespace mixstack::base
