#include "mixstack/frame.h"

namespace mixstack {

std::string_view to_string(StopReason r) {
  switch (r) {
    case StopReason::end_of_stack:
      return "end_of_stack";
    case StopReason::max_frames:
      return "max_frames";
    case StopReason::no_unwind_info:
      return "no_unwind_info";
    case StopReason::unreadable_memory:
      return "unreadable_memory";
    case StopReason::stack_truncated:
      return "stack_truncated";
    case StopReason::stack_not_advancing:
      return "stack_not_advancing";
    case StopReason::bad_return_address:
      return "bad_return_address";
    case StopReason::register_unknown:
      return "register_unknown";
    case StopReason::malformed_unwind_info:
      return "malformed_unwind_info";
    case StopReason::malformed_frame_list:
      return "malformed_frame_list";
    case StopReason::not_captured:
      return "not_captured";
    case StopReason::foreign_stack:
      return "foreign_stack";
  }
  return "unknown";
}

std::string_view to_string(FrameKind k) {
  switch (k) {
    case FrameKind::native:
      return "native";
    case FrameKind::managed:
      return "managed";
    case FrameKind::runtime_frame:
      return "runtime_frame";
    case FrameKind::runtime_stub:
      return "runtime_stub";
    case FrameKind::signal_trampoline:
      return "signal_trampoline";
    case FrameKind::undescribed:
      return "undescribed";
  }
  return "unknown";
}

std::string_view to_string(FuncletKind k) {
  switch (k) {
    case FuncletKind::none:
      return "none";
    case FuncletKind::unknown:
      return "funclet";
    case FuncletKind::catch_handler:
      return "catch";
    case FuncletKind::filter:
      return "filter";
    case FuncletKind::finally:
      return "finally";
    case FuncletKind::fault:
      return "fault";
  }
  return "unknown";
}

std::string_view to_string(Trust t) {
  switch (t) {
    case Trust::certain:
      return "certain";
    case Trust::checkpoint:
      return "checkpoint";
    case Trust::frame_pointer:
      return "frame_pointer";
    case Trust::prologue:
      return "prologue";
    case Trust::inferred:
      return "inferred";
  }
  return "unknown";
}

std::string_view to_string(StepperId s) {
  switch (s) {
    case StepperId::none:
      return "none";
    case StepperId::initial:
      return "initial";
    case StepperId::eh_frame:
      return "eh_frame";
    case StepperId::debug_frame:
      return "debug_frame";
    case StepperId::frame_pointer:
      return "frame_pointer";
    case StepperId::prologue:
      return "prologue";
    case StepperId::signal_frame:
      return "signal_frame";
    case StepperId::managed:
      return "managed";
    case StepperId::explicit_frame:
      return "explicit_frame";
    case StepperId::stub:
      return "stub";
    case StepperId::scan:
      return "scan";
    case StepperId::user:
      return "user";
  }
  return "unknown";
}

}  // namespace mixstack
