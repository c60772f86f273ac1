// A process's command line and environment, and where the kernel put them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::pack {

struct ProcessWords {
  std::vector<std::string> command_line, environment;
  /// Whether the program overwrote them (as setproctitle does): the original text is unknown then, and copies of it
  /// elsewhere cannot be found.
  bool command_line_is_lost = false, environment_is_lost = false;
  std::vector<std::string> on_stack_words;  ///< those found there: others if moved by prctl(PR_SET_MM)
  std::vector<std::byte> auxv;
  /// The upper end of the main stack, where Linux puts the strings of both (create_elf_tables in fs/binfmt_elf.c: all
  /// of them lie above the random bytes and the platform's name). Nothing: unknown.
  std::optional<AddressRange> on_stack;

  /// Texts that must not be in a pack: values of the environment and words of the command line. Parts of a mapped
  /// file's path or of `names` (the process's names for its code and threads) stay: a pack tells these anyway.
  [[nodiscard]] std::vector<std::string> secrets(std::span<const Region> regions, const std::string& names,
                                                 bool environment_too, bool command_line_too) const;
};

/// Whether /proc/PID/environ was overwritten: it is no longer a list of "NAME=VALUE".
[[nodiscard]] bool is_overwritten_environment(std::string_view text);

/// Reads them from a running process. Fields that cannot be read stay empty.
[[nodiscard]] ProcessWords read_process_words(std::uint32_t pid, const MemoryReader& memory,
                                              std::span<const Region> regions);
/// Finds them in the memory of a process or core.
[[nodiscard]] ProcessWords find_process_words(std::span<const std::byte> auxv, const MemoryReader& memory,
                                              std::span<const Region> regions);

}  // namespace mixstack::pack
