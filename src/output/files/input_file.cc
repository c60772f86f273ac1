#include "output/files/input_file.h"

#include <unistd.h>

#include <cerrno>

#include "base/system/regular_file.h"

namespace mixstack::files {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

Result<std::vector<char>> read_all(int fd) {
  constexpr std::size_t kPiece = 1 << 20;
  std::vector<char> bytes;
  for (;;) {
    const std::size_t size = bytes.size();
    if (size >= kMostBytes) return fail(ErrorCode::limit_exceeded, kMostBytes);
    bytes.resize(size + kPiece);
    const ssize_t got = ::read(fd, bytes.data() + size, kPiece);
    bytes.resize(size + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return fail(ErrorCode::io_error, 0, errno);
  }
}

}  // namespace

Result<std::vector<char>> read_input_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO);
  const auto fd = base::open_regular(path);
  if (!fd) return fail(fd.error());
  return read_all(fd->get());
}

}  // namespace mixstack::files
