// The list of generated code that a process keeps for perf: /tmp/perf-PID.map.
#pragma once

#include <cstdint>
#include <string>

#include "mixstack/result.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

struct PerfMapText {
  std::uint64_t version = 0;  ///< another one after each change of the file; never 0
  std::string text;           ///< whole lines from the file's end; empty where `version` is the one that was known
};

/// Read by the process's own number (in its innermost pid namespace) and below its own root. The file tells names, and
/// anybody can put one there first: it counts only if it is a regular file, no link, of the process's effective user or
/// root, writable by nobody else, and written since the process began (pids are reused, and these files are never
/// removed). `known`: the version that the caller has, 0: none. At most the last `most` bytes.
///
/// Errors: not_found, permission_denied (`value`: the owner), mismatch (older than the process), unsupported (no
/// regular file, or a link), no_such_process, io_error.
[[nodiscard]] Result<PerfMapText> read_perf_map(const ProcDir& proc, std::uint64_t known, std::size_t most);
/// "/tmp/perf-17.map", by the process's own number.
[[nodiscard]] std::string perf_map_path(const ProcDir& proc);

}  // namespace mixstack::process
