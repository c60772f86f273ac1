// Translates the error of a walk to its stop reason.
#pragma once

#include "mixstack/frame.h"
#include "mixstack/result.h"

namespace mixstack::walk {

/// The stop reason of a walk for which no stepper found the next caller; `code`: the first error. Signal-safe.
[[nodiscard]] constexpr StopReason stop_reason_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::unreadable_memory:
      return StopReason::unreadable_memory;
    case ErrorCode::register_unknown:
      return StopReason::register_unknown;
    case ErrorCode::stack_not_advancing:
      return StopReason::stack_not_advancing;
    case ErrorCode::bad_return_address:
      return StopReason::bad_return_address;
    case ErrorCode::malformed:
    case ErrorCode::truncated:
    case ErrorCode::unsupported:
    case ErrorCode::limit_exceeded:
      return StopReason::malformed_unwind_info;
    default:
      return StopReason::no_unwind_info;
  }
}

}  // namespace mixstack::walk
