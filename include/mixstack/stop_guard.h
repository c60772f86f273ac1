// Holds threads of a process stopped for the length of a scope: for debuggers only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack {

/// Threads of another process that stay stopped until this is destroyed. If we are killed meanwhile, the kernel resumes
/// them. Nothing is written to the process. No other tracer can attach meanwhile: a Session of the same process fails
/// with `already_traced`. Movable; may be destroyed in any thread. Not signal-safe.
class StopGuard {
 public:
  /// Stops `tids` (empty: all threads, also those created meanwhile) of a process that is not traced. Errors:
  /// no_such_process, no_such_thread, permission_denied, already_traced, thread_not_stopped (then none is held).
  [[nodiscard]] static Result<StopGuard> stop(std::uint32_t pid, std::span<const ThreadId> tids = {},
                                              std::chrono::milliseconds timeout = std::chrono::seconds(1));
  StopGuard(StopGuard&&) noexcept;
  StopGuard& operator=(StopGuard&&) noexcept;
  ~StopGuard();

  /// Resumes the threads now. May be called again.
  void release();
  [[nodiscard]] bool is_held() const;
  /// The held process as a target for `Session::open`, walked without another stop. The guard must outlive it.
  [[nodiscard]] Result<std::unique_ptr<Target>> target() const;

 private:
  class Implementation;
  explicit StopGuard(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
