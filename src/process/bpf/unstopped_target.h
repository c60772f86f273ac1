// A running process as a Target that is never stopped.
#pragma once

#include <memory>

#include "mixstack/target.h"

namespace mixstack::bpf {

/// As process::open_live, but a capture stops nothing: registers of threads that are on no processor come from a
/// TaskIterator, stacks and roots are read while the process runs, and a thread is captured only if it is proved that
/// it did not run from the first look to the last. Those that ran are looked at again, with roots of their own
/// (`Capture::late`), until the request's `stop_timeout` is over; threads that still ran then are `thread_not_stopped`
/// with words::kWasRunning.
///
/// Such a capture has no vector registers. Errors: those of open_live and of TaskIterator::open.
[[nodiscard]] Result<std::unique_ptr<Target>> open_unstopped(std::uint32_t pid);

/// As process::open_live: captures stop the process. Threads that a busy machine did not let stop in time are looked at
/// this way (`Capture::late`, `not_stopped`); if we may not do so, a diagnosis says what would help. The program is
/// loaded into the kernel when the first such thread occurs.
[[nodiscard]] Result<std::unique_ptr<Target>> open_live_with_late_look(std::uint32_t pid);

}  // namespace mixstack::bpf
