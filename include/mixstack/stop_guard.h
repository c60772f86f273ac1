// Holding threads of a process still, for as long as a scope lasts: debuggers only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack {

/// Threads of another process that stand still until this is destroyed. If we are killed meanwhile, the kernel lets
/// them go. Nothing is written to the process. While it is held, no other tracer can look at it: a Session of the same
/// process answers `already_traced`. Movable; may be destroyed in any thread.
class StopGuard {
 public:
  /// Stops `tids` (empty: all, and those that are born meanwhile) of a process that nobody traces. Errors:
  /// no_such_process, no_such_thread, permission_denied, already_traced, thread_not_stopped (nothing is held then).
  [[nodiscard]] static Result<StopGuard> stop(std::uint32_t pid, std::span<const ThreadId> tids = {},
                                              std::chrono::milliseconds timeout = std::chrono::seconds(1));
  StopGuard(StopGuard&&) noexcept;
  StopGuard& operator=(StopGuard&&) noexcept;
  ~StopGuard();

  /// Lets go now. Idempotent.
  void release();
  [[nodiscard]] bool is_held() const;
  /// The held process as a source for `Session::open`, walked without another stop. The guard must outlive it.
  [[nodiscard]] Result<std::unique_ptr<Target>> target() const;

 private:
  class Implementation;
  explicit StopGuard(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
