// Small text files and links, most of them of /proc and /sys, read within bounds.
#pragma once

#include <cstddef>
#include <string>

#include "mixstack/result.h"

namespace mixstack::base {

/// The beginning of a file: all of it, or about `most` bytes. Errors: io_error, whose os_error says why.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t most);
/// The same. Empty: it cannot be read, or is empty.
[[nodiscard]] std::string text_at(const std::string& path, std::size_t most);
/// The first line of a file, without its newline.
[[nodiscard]] std::string line_at(const std::string& path);
/// The target of a symbolic link, cut if it is long; empty: not readable.
[[nodiscard]] std::string link_at(const std::string& path);

}  // namespace mixstack::base
