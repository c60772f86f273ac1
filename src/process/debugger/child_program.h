// Starts a program that its tracer holds from the beginning.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "process/debugger/debug_session.h"

namespace mixstack::process {

/// A forked child that waits, before its exec, to be let through. To be used by the tracer, whose child it becomes.
class ChildProgram {
 public:
  /// Errors: io_error (os_error: no pipe, no process).
  [[nodiscard]] static Result<ChildProgram> fork(const LaunchRequest& request);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Lets it exec. Once, after it was seized.
  void let_through();
  /// Why it ended without exec. Errors as `DebugSession::launch` names them.
  [[nodiscard]] Error failure() const;

 private:
  ChildProgram() = default;
  pid_t pid_ = -1;
  base::ScopedFd gate_;     // the child waits for a byte from it
  base::ScopedFd failure_;  // the child writes its errno to it, or closes it by its exec
};

}  // namespace mixstack::process
