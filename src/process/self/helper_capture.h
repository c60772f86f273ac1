// A capture of our own process by a child of ours.
#pragma once

#include <chrono>

#include "mixstack/target.h"

namespace mixstack::process {

/// Makes a child process that stops all our threads, copies what a live capture copies, and sends it back.
///
/// The child is a copy of us that runs nothing but the capture. It is made so that nobody else notices: no SIGCHLD, no
/// fork handlers, invisible to a wait for any child (Linux: a child without exit signal, seen with __WCLONE only). It
/// ends with us. Where Yama only lets parents trace, it is allowed to for as long as it lives (PR_SET_PTRACER; whatever
/// the process had set there before is gone).
///
/// Another thread may hold a lock of the allocator at the instant of the copy, for ever in the child: a child that does
/// not answer is killed and another one made, until `timeout`. The kernel lets go of everything it had stopped.
///
/// Errors: those of a live capture, `thread_not_stopped` (no answer in time), io_error.
[[nodiscard]] Result<Capture> capture_by_helper(const CaptureRequest& request, std::chrono::milliseconds timeout);

}  // namespace mixstack::process
