// The list of a process's mappings as the kernel prints it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::process {

/// Parses the text of /proc/PID/maps (Linux, fs/proc/task_mmu.c, show_map_vma). Lines that do not have its form and
/// ranges that are empty are left out. Ascending as the kernel lists them.
///
/// Paths: the kernel writes a newline as \012 and nothing else specially, and appends " (deleted)" to the path of an
/// unlinked file. Both are undone here. A file that is really named so looks the same, so code that opens the path
/// compares device and inode.
[[nodiscard]] std::vector<Region> parse_memory_map(std::string_view text);

/// The same from a file that is read piece by piece, so that the whole text is never held. More than `most_regions`
/// mappings or `most_text` bytes is `limit_exceeded`; a failed read is no_such_process or io_error. Linux allows a
/// process 65,530 mappings (vm.max_map_count), an administrator as many as fit an int; a path may have 4,095 bytes.
struct MapLimits {
  std::size_t most_regions = 1 << 22;
  std::size_t most_text = std::size_t{1} << 30;
  std::size_t most_paths = std::size_t{256} << 20;  ///< bytes of all paths, which the list keeps
};
[[nodiscard]] Result<std::vector<Region>> read_memory_map(int fd, const MapLimits& limits = {});

/// Executable memory in which a program may have made code itself: anonymous, of a memfd, or of a file that is gone.
[[nodiscard]] bool may_hold_generated_code(const Region& region);

/// The region that holds an address in a list ascending by address, or null.
[[nodiscard]] const Region* find_region(std::span<const Region> regions, Address address);

}  // namespace mixstack::process
