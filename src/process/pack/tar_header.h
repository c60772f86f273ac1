// Headers of tar archives: POSIX.1-2017, "pax Interchange Format" and "ustar Interchange Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::pack {

inline constexpr std::size_t kTarBlock = 512;

/// A header whose checksum was right.
struct TarHeader {
  std::string path;  ///< prefix and name together
  std::uint64_t size = 0;
  char type = '0';
};

/// Nothing if `block` is not a header. Sizes in octal, or in GNU's base-256 form.
[[nodiscard]] std::optional<TarHeader> parse_tar_header(std::span<const std::byte> block);
/// Whether a header of this type describes the next member, or all members that follow.
[[nodiscard]] constexpr bool is_extension(char type) { return type == 'x' || type == 'g' || type == 'L'; }
/// A path as `tar cf x ./folder` writes it, without the dot.
[[nodiscard]] constexpr std::string_view without_dot(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  return path;
}
[[nodiscard]] bool is_end_of_tar(std::span<const std::byte> block);
/// `path` and `size` out of the records of an extended header ("LENGTH KEY=VALUE\n"); false when they are damaged.
[[nodiscard]] bool apply_pax_records(std::string_view records, TarHeader& header);

/// The blocks before a regular file's bytes; a path or size too long for ustar is in an extended header.
[[nodiscard]] std::vector<std::byte> tar_header_of(std::string_view path, std::uint64_t size, std::uint64_t time);
/// How many zeros follow `size` bytes.
[[nodiscard]] constexpr std::size_t tar_padding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

}  // namespace mixstack::pack
