#include "report/words.h"

#include <fmt/format.h>

#include <cstring>

namespace mixstack::report {

std::string_view arch_name(Arch arch) {
  switch (arch) {
    case Arch::x86_64:
      return "x86_64";
    case Arch::aarch64:
      return "aarch64";
    case Arch::x86:
      return "x86";
    case Arch::arm:
      return "arm";
    case Arch::unknown:
      break;
  }
  return "unknown";
}

std::string_view consistency_name(Consistency consistency) {
  switch (consistency) {
    case Consistency::all_stopped_together:
      return "all_stopped_together";
    case Consistency::one_by_one:
      return "one_by_one";
    case Consistency::not_stopped:
      return "not_stopped";
  }
  return "unknown";
}

std::string_view stop_words(StopReason reason) {
  switch (reason) {
    case StopReason::end_of_stack:
      return "end of the stack";
    case StopReason::max_frames:
      return "the limit of frames was reached (--max-frames)";
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
  }
  return "unknown reason";
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

// Letters: proc(5), /proc/PID/stat, field state.
std::string_view kernel_state_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in uninterruptible sleep";
    case 'T':
      return "stopped by a signal";
    case 't':
      return "stopped by a tracer";
    case 'Z':
      return "zombie";
    case 'X':
      return "dead";
    case 'I':
      return "idle";
    case 'P':
      return "parked";
    default:
      return "";
  }
}

std::string duration_words(std::chrono::nanoseconds duration) {
  const double us = static_cast<double>(duration.count()) / 1e3;
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1e6) return fmt::format("{:.{}f} ms", us / 1e3, us < 1e5 ? 1 : 0);
  return fmt::format("{:.2f} s", us / 1e6);
}

std::string syscall_words(Arch arch, std::int64_t number) {
  if (number < 0) return {};
  const std::string_view name = syscall_name(arch, number);
  return name.empty() ? fmt::format("syscall {}", number) : std::string(name);
}

}  // namespace mixstack::report
