// The role of a thread, and whether it is idle in it: from its outermost managed method, its name and its stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/words/user_code.h"
#include "mixstack/dump.h"

namespace mixstack::report {

enum class ThreadRole : std::uint8_t {
  other,  ///< a thread of the program's own, or of native libraries
  main,
  pool_worker,
  pool_gate,
  pool_waits,  ///< waits for registered handles
  timer,
  finalizer,
  gc,
  tiering,
  sockets,
  file_watcher,
  signals,
  diagnostics,
  runtime,  ///< another thread of the runtime
  library,  ///< of a framework's library, known to sleep between jobs
};

/// Stable, for programs: "pool_worker".
[[nodiscard]] std::string_view role_name(ThreadRole);

/// One idle thread of this role in words, or several: "pool worker waits for work",
/// "pool workers wait for work". Empty where that says nothing.
[[nodiscard]] std::string_view idle_words(ThreadRole, bool several);

/// By the method the thread began with, where it is managed, else by its name, which a program may give any thread of
/// its own: no role means that nothing else runs there.
[[nodiscard]] ThreadRole role_of(const ProcessDump& dump, const ThreadDump& thread);

[[nodiscard]] UserCode user_code_of(const ProcessDump& dump);
/// Index of the innermost frame of a thread with code of the program, be it inlined there; the number of its frames
/// where there is none.
[[nodiscard]] std::size_t innermost_user_frame(const UserCode& user, const ProcessDump& dump, const ThreadDump& thread);

/// A thread with a role that waits for what it is there for: its whole stack is known, nothing of the program is on it,
/// and nothing is wrong with it.
[[nodiscard]] bool is_idle(const ProcessDump& dump, const ThreadDump& thread, ThreadRole role, const UserCode& user);

}  // namespace mixstack::report
