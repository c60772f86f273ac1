#include "process/kernel/memory_map.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mixstack::process {
namespace {

constexpr std::size_t kMapPiece = 64 << 10;  // more than the longest line

/// Reads one line from the left; the first thing that does not fit makes it failed.
class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : line_(line) {}

  [[nodiscard]] std::uint64_t number(unsigned base, char terminator) {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    while (at_ < line_.size() && digits <= 20) {
      const unsigned d = digit(line_[at_]);
      if (d >= base) break;
      value = value * base + d;
      at_++;
      digits++;
    }
    if (digits == 0) ok_ = false;
    expect(terminator);
    return value;
  }
  [[nodiscard]] char next() {
    if (at_ < line_.size()) return line_[at_++];
    ok_ = false;
    return '\0';
  }
  void expect(char c) {
    if (next() != c) ok_ = false;
  }
  /// The path column: everything after the blanks.
  [[nodiscard]] std::string_view rest() {
    while (at_ < line_.size() && line_[at_] == ' ') at_++;
    return line_.substr(at_);
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  [[nodiscard]] static unsigned digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    return 99;
  }
  std::string_view line_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

[[nodiscard]] std::string unescape(std::string_view path) {
  std::string out(path);
  for (std::size_t at = out.find("\\012"); at != std::string::npos; at = out.find("\\012", at + 1))
    out.replace(at, 4, 1, '\n');
  return out;
}

void parse_path(std::string_view text, Region& region) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (text.ends_with(kDeleted) && text.starts_with('/')) {
    region.deleted = true;
    text.remove_suffix(kDeleted.size());
  }
  region.path = unescape(text);
}

// 7f0000000000-7f0000001000 r-xp 00002000 fe:01 1234   /usr/lib/x.so
[[nodiscard]] bool parse_line(std::string_view line, Region& r) {
  LineCursor c(line);
  r.range.begin = c.number(16, '-');
  r.range.end = c.number(16, ' ');
  r.readable = c.next() == 'r';
  r.writable = c.next() == 'w';
  r.executable = c.next() == 'x';
  r.shared = c.next() == 's';
  c.expect(' ');
  r.file_offset = c.number(16, ' ');
  r.device_major = static_cast<std::uint32_t>(c.number(16, ':'));
  r.device_minor = static_cast<std::uint32_t>(c.number(16, ' '));
  if (!c.ok()) return false;
  // The inode ends the line of a mapping without a name in some kernels and is followed by a blank in others.
  r.inode = c.number(10, ' ');
  parse_path(c.rest(), r);
  return !r.range.empty();
}

}  // namespace

std::vector<Region> parse_memory_map(std::string_view text) {
  std::vector<Region> regions;
  regions.reserve(text.size() / 90 + 1);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    Region region;
    if (parse_line(line, region)) regions.push_back(std::move(region));
  }
  return regions;
}

Result<std::vector<Region>> read_memory_map(int fd, const MapLimits& limits) {
  std::vector<Region> regions;
  std::string buffer(kMapPiece, '\0');
  std::size_t used = 0, text = 0, paths = 0;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data() + used, buffer.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno == ESRCH ? ErrorCode::no_such_process : ErrorCode::io_error, 0, errno);
    text += static_cast<std::size_t>(n);
    used += static_cast<std::size_t>(n);
    std::string_view rest(buffer.data(), used);
    for (std::size_t end = 0; (end = n == 0 ? rest.size() : rest.find('\n')) != std::string_view::npos;) {
      Region region;
      if (parse_line(rest.substr(0, end), region)) {
        paths += region.path.size();
        regions.push_back(std::move(region));
      }
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
    }
    if (n == 0) return regions;
    if (regions.size() > limits.most_regions) return fail(ErrorCode::limit_exceeded, limits.most_regions);
    if (text > limits.most_text || paths > limits.most_paths) return fail(ErrorCode::limit_exceeded, text);
    used = rest.size();
    std::memmove(buffer.data(), rest.data(), used);
    if (used == buffer.size()) return fail(ErrorCode::limit_exceeded, used);  // no line of the kernel's is that long
  }
}

bool may_hold_generated_code(const Region& region) {
  if (!region.executable) return false;
  if (region.path.empty() || region.deleted || region.path == "[heap]") return true;
  // Names that prctl(PR_SET_VMA_ANON_NAME) gives, shared anonymous memory, memfds.
  return region.path.starts_with("[anon") || region.path.starts_with("/memfd:") || region.path.starts_with("/dev/zero");
}

const Region* find_region(std::span<const Region> regions, Address address) {
  auto it =
      std::partition_point(regions.begin(), regions.end(), [&](const Region& r) { return r.range.end <= address; });
  return it != regions.end() && it->range.contains(address) ? &*it : nullptr;
}

}  // namespace mixstack::process
