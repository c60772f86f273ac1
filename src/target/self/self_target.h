// Our own process as a Target.
#pragma once

#include <chrono>
#include <memory>

#include "mixstack/target.h"

namespace mixstack::target {

/// How threads other than the calling one are captured. Neither way is used unless asked for.
enum class OtherThreads : std::uint8_t {
  none,    ///< they are listed with the error `unsupported`
  signal,  ///< each runs a handler of ours that copies its registers and stack (signal_capture.h)
  helper,  ///< a child process stops and captures us as any other process (helper_capture.h)
};

struct SelfOptions {
  OtherThreads others = OtherThreads::none;
  int signal = 0;                                  ///< for OtherThreads::signal: one that nobody else uses
  std::chrono::milliseconds helper_timeout{5000};  ///< for OtherThreads::helper, in all
};

/// Opens the own process. Nothing is installed, started or changed by this.
///
/// `capture` copies the calling thread itself; its stack shows the capture. Threads that block the signal or do not
/// answer within the request's `stop_timeout` are reported with `thread_not_stopped`. Captures by signal, and of the
/// calling thread alone, are `one_by_one`: the runtime's roots are read after the stacks. Those by helper are as
/// consistent as those of a live process.
///
/// One capture at a time. A child made by fork must open its own. Errors: unsupported_cpu, invalid_argument (no usable
/// signal number), io_error.
[[nodiscard]] Result<std::unique_ptr<Target>> open_self(const SelfOptions& options = {});

}  // namespace mixstack::target
