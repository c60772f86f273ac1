// One file from which a dump can be made again, anywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/session.h"

namespace mixstack {

/// Everything that a dump can have, but no contents of strings: metadata and objects that `why` reads, too.
[[nodiscard]] DumpOptions dump_for_packs();

struct PackOptions {
  DumpOptions dump = dump_for_packs();  ///< the dump that the pack must be able to repeat
  RuntimeOptions runtime;
  bool full = false;  ///< all private memory, not only what the dump read
  bool with_environment = false;
  bool with_command_line = false;
  std::string tool;        ///< version, for the manifest
  SymbolOptions symbols;   ///< files found by them are not in the pack, whose dump then has fewer names
  bool read_back = false;  ///< `fd` is an empty regular file, for reading, too: dump the pack and compare
};

/// The contents of a pack in numbers.
struct PackSummary {
  std::size_t threads = 0, files = 0;
  std::uint64_t core_bytes = 0, file_bytes = 0, written = 0;
  bool full = false;
  std::vector<std::string> left_out;  ///< sentences, as in the manifest
  std::vector<std::string> warnings;  ///< secrets that may still be in it; in the manifest's list, too
  std::vector<Diagnosis> diagnoses;   ///< of the dump
  std::chrono::nanoseconds pause{0};  ///< for which the process stood still
  std::vector<ThreadId>
      different;  ///< threads whose stacks the pack tells otherwise than the dump; 0: it cannot be read
};

/// Dumps a process once, with the pause that a dump has, and writes what was read to `fd`. Errors: those of
/// Session::open_process and dump; writing: `io_error` whose value is kPackNotWritten.
[[nodiscard]] Result<PackSummary> pack_process(std::uint32_t pid, const PackOptions& options, int fd);
/// The same for a core. If the dump of a small pack differs from the core's, the pack is made again in full if it can.
[[nodiscard]] Result<PackSummary> pack_core(const CoreOptions& core, const PackOptions& options, int fd);

inline constexpr std::uint64_t kPackNotWritten = 1;

}  // namespace mixstack
