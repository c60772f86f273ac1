// The assembler: opens a target, finds its modules and runtimes, and walks and names its threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack {

struct WalkOptions {
  std::uint32_t max_frames = 65536;
  bool explicit_frames = false;  ///< show the runtime's explicit Frames between the stack frames
  bool keep_registers = false;   ///< keep each frame's known registers in the trace
  bool explain = false;          ///< record which stepper was asked and what it answered
};

struct DumpOptions {
  std::vector<ThreadId> threads;  ///< empty: all
  std::chrono::milliseconds stop_timeout{20};
  std::size_t stack_byte_budget = 64 << 20;
  WalkOptions walk;
};

/// A core file and where the files of its process may be found.
struct CoreOptions {
  std::string path;
  /// Folders that stand for the root of the machine the core comes from: `DIR/usr/lib/libc.so.6`, also `DIR/libc.so.6`.
  std::vector<std::string> sysroots;
  std::string executable;     ///< the program's own file; empty: by the path in the core
  bool use_own_files = true;  ///< look at the same paths on this machine, too; a file must match in any case
};

/// A process opened for walking. Not thread-safe; use one session per thread. All ptrace work happens in the calling
/// thread, inside `dump()`; between calls the target runs freely and is not traced.
class Session {
 public:
  /// Errors: no_such_process, permission_denied, unsupported_cpu, already_traced.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_process(std::uint32_t pid);
  /// Errors: io_error, unsupported (not a core), unsupported_cpu (value is the ELF machine), truncated, malformed,
  /// limit_exceeded. Whatever else a core lacks is a diagnosis of the dump.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_core(const CoreOptions& options);
  virtual ~Session() = default;

  [[nodiscard]] virtual Target& target() = 0;
  /// Captures, lets the target run, walks and names. Partial results are in the dump, with what failed.
  [[nodiscard]] virtual Result<ProcessDump> dump(const DumpOptions& options) = 0;
};

}  // namespace mixstack
