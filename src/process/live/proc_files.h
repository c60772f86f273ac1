// Small files of /proc that several rooms ask for by the number of a process, without holding its directory open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mixstack::process {

/// The kernel's name of a process.
[[nodiscard]] std::string comm_of(std::uint32_t pid);
/// The number in "pipe:[4711]", of that `kind` ("pipe:[").
[[nodiscard]] std::optional<std::uint64_t> inode_of(std::string_view link, std::string_view kind);
/// How a descriptor of "/proc/PID" was opened, as its fdinfo says in octal: O_RDONLY, O_WRONLY or O_RDWR. Nothing: it
/// cannot be read (the descriptor was closed, another's process), or the descriptor only names the file (O_PATH).
[[nodiscard]] std::optional<int> mode_of(const std::string& process, std::string_view fd);
/// Calls `use(number)` for each entry of a folder of /proc that is a number, in the kernel's order, until it answers
/// false or `most` were used.
void each_number(const std::string& folder, std::size_t most, const std::function<bool(std::uint32_t)>& use);

}  // namespace mixstack::process
