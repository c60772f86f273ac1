// Small files and links of /proc, read within bounds.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mixstack::session {

/// A number and nothing else.
template <class Number>
[[nodiscard]] std::optional<Number> number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The target of a symbolic link, cut if it is long; empty: not readable.
[[nodiscard]] std::string link_at(const std::string& path);
/// The beginning of a file, about `most` bytes; empty: there is none.
[[nodiscard]] std::string file_at(const std::string& path, std::size_t most);
/// The kernel's name of a process.
[[nodiscard]] std::string comm_of(std::uint32_t pid);
/// The number in "pipe:[4711]", of that `kind` ("pipe:[").
[[nodiscard]] std::optional<std::uint64_t> inode_of(std::string_view link, std::string_view kind);
/// How a descriptor of "/proc/PID" was opened, as its fdinfo says in octal: O_RDONLY, O_WRONLY or O_RDWR. Nothing: it
/// cannot be read (the descriptor was closed, another's process), or the descriptor only names the file (O_PATH).
[[nodiscard]] std::optional<int> mode_of(const std::string& process, std::string_view fd);

}  // namespace mixstack::session
