// Where the files of a process's cgroups are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::process {

/// The place of a cgroup's files, from the lines of /proc/PID/cgroup and /proc/self/mountinfo. Public for tests.
struct CgroupPlace {
  std::string mount, path;  ///< the folder it is mounted at; below it, "/" or "/a/b"
  bool is_v2 = false;
};
/// `controller`: "cpu", "memory".
[[nodiscard]] std::optional<CgroupPlace> cgroup_place(std::string_view cgroups, std::string_view mountinfo,
                                                      std::string_view controller);

/// A cgroup of a process, or one above it.
struct CgroupLevel {
  std::string name;    ///< as /proc/PID/cgroup has it
  std::string folder;  ///< of its files
  bool is_v2 = false;
};
/// Innermost first, at most 32. Empty: their files are not visible from here.
[[nodiscard]] std::vector<CgroupLevel> cgroup_levels(std::uint32_t pid, std::string_view controller);

/// At most 1 MiB; empty: it cannot be read.
[[nodiscard]] std::string read_cgroup_file(const std::string& path);
/// Takes the next piece off `text`.
[[nodiscard]] std::string_view next_piece(std::string_view& text, char until);
/// The number that a text begins with; nothing for "max" and "-1".
[[nodiscard]] std::optional<std::uint64_t> leading_number(std::string_view text);

}  // namespace mixstack::process
