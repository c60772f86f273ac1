#include "base/words/words.h"

namespace mixstack::words {

std::string_view stop_words(StopReason reason) {
  switch (reason) {
    case StopReason::end_of_stack:
      return "end of the stack";
    case StopReason::max_frames:
      return "the limit of frames was reached";
    case StopReason::no_unwind_info:
      return "nothing describes how to continue from here";
    case StopReason::unreadable_memory:
      return "a needed word of the stack could not be read";
    case StopReason::stack_truncated:
      return "the copied part of the stack ends here";
    case StopReason::stack_not_advancing:
      return "the next frame would not be further up the stack";
    case StopReason::bad_return_address:
      return "the return address is not executable memory";
    case StopReason::register_unknown:
      return "the next step needs a register that is not known here";
    case StopReason::malformed_unwind_info:
      return "the unwind information is malformed";
    case StopReason::malformed_frame_list:
      return "the runtime's list of Frames is malformed";
    case StopReason::not_captured:
      return "the thread was not captured";
    case StopReason::foreign_stack:
      return "it runs on a stack that is not the thread's (a goroutine, a fiber), which is not followed";
  }
  return "unknown reason";
}

std::string cut_name(StopReason reason) {
  if (reason == StopReason::stack_truncated) return "[stack deeper than its copy]";
  return "[cut: " + std::string(to_string(reason)) + "]";
}

std::string_view trust_words(Trust trust) {
  switch (trust) {
    case Trust::certain:
      return "";
    case Trust::checkpoint:
      return "resumed at a runtime Frame";
    case Trust::frame_pointer:
      return "by frame pointer";
    case Trust::prologue:
      return "by prologue";
    case Trust::inferred:
      return "inferred, may be wrong";
  }
  return "unknown trust";
}

std::string_view stepper_words(StepperId stepper) {
  switch (stepper) {
    case StepperId::none:
      return "nobody";
    case StepperId::initial:
      return "the registers of the capture";
    case StepperId::eh_frame:
      return "unwind information (.eh_frame)";
    case StepperId::debug_frame:
      return "unwind information (.debug_frame)";
    case StepperId::frame_pointer:
      return "the frame pointer";
    case StepperId::prologue:
      return "the decoded prologue";
    case StepperId::signal_frame:
      return "the kernel's signal frame";
    case StepperId::managed:
      return "the runtime's unwind codes";
    case StepperId::explicit_frame:
      return "the runtime's explicit Frame";
    case StepperId::stub:
      return "the layout of a runtime stub";
    case StepperId::scan:
      return "a scan of the stack";
    case StepperId::user:
      return "a stepper of the caller";
  }
  return "an unknown stepper";
}

}  // namespace mixstack::words
