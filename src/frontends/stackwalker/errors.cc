#include <atomic>
#include <cstdarg>
#include <cstring>

#include "frontends/stackwalker/error_map.h"

namespace Dyninst::Stackwalker {
namespace {

constexpr std::size_t kMaxText = 256;

/// Plain data: a thread-local variable without a constructor.
struct LastError {
  err_t code;
  char text[kMaxText];
};
LastError& last_error() {
  thread_local LastError error{};
  return error;
}

struct DebugChannel {
  std::atomic<bool> enabled{false};
  std::atomic<std::FILE*> file{nullptr};
};
DebugChannel& debug_channel() {
  static DebugChannel channel;
  return channel;
}

const char* words_for(err_t code) {
  switch (code) {
    case err_badparam:
      return "bad parameter";
    case err_nostepper:
      return "no stepper can find the caller";
    case err_nosymlookup:
      return "no symbol lookup";
    case err_procread:
      return "cannot read the target's memory";
    case err_nosymbol:
      return "no symbol for the address";
    case err_perm:
      return "not permitted to look into the process";
    case err_noproc:
      return "no such process";
    case err_interrupt:
      return "interrupted";
    case err_procexit:
      return "the process has ended or become another program";
    case err_stackbottom:
      return "bottom of the stack";
    case err_nofile:
      return "no such file";
    case err_unsupported:
      return "not supported";
    case err_symtab:
      return "cannot read the symbol table";
    case err_nolibtracker:
      return "no library tracker";
    case err_nogroup:
      return "no stepper group";
    case err_nothrd:
      return "no such thread";
    case err_proccontrol:
      return "the debugger interface failed";
    case 0:
      return "";
    default:
      return "internal error";
  }
}

const char* words_for(mixstack::StopReason reason) {
  using mixstack::StopReason;
  switch (reason) {
    case StopReason::end_of_stack:
      return "bottom of the stack";
    case StopReason::max_frames:
      return "stack cut: more frames than are walked";
    case StopReason::no_unwind_info:
      return "stack cut: no stepper knows the code";
    case StopReason::unreadable_memory:
      return "stack cut: a stack word cannot be read";
    case StopReason::stack_truncated:
      return "stack cut: larger than what is copied";
    case StopReason::stack_not_advancing:
      return "stack cut: the caller's stack pointer does not advance";
    case StopReason::bad_return_address:
      return "stack cut: the return address is no code";
    case StopReason::register_unknown:
      return "stack cut: a register is needed that is not known";
    case StopReason::malformed_unwind_info:
      return "stack cut: unwind information is malformed";
    case StopReason::malformed_frame_list:
      return "stack cut: the runtime's list of Frames is damaged";
    case StopReason::not_captured:
      return "the thread could not be captured";
    case StopReason::foreign_stack:
      return "stack cut: a stack that is not the thread's";
  }
  return "stack cut";
}

}  // namespace

err_t getLastError() { return last_error().code; }
void clearLastError() { last_error() = {}; }
const char* getLastErrorMsg() { return last_error().text; }

void setLastError(err_t err, const char* msg) {
  LastError& error = last_error();
  error.code = err;
  const char* text = msg != nullptr ? msg : words_for(err);
  // The text may be the current one.
  const std::size_t length = strnlen(text, kMaxText - 1);
  std::memmove(error.text, text, length);
  error.text[length] = '\0';
}

bool failed(err_t code, const char* text) {
  setLastError(code, text);
  return false;
}

void setDebug(bool enable) { debug_channel().enabled = enable; }
void setDebugChannel(std::FILE* file) { debug_channel().file = file; }
std::FILE* getDebugChannel() {
  std::FILE* file = debug_channel().file;
  return file != nullptr ? file : stderr;
}

void trace_line(const char* format, ...) {
  if (!debug_channel().enabled) return;
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(getDebugChannel(), format, arguments);
  va_end(arguments);
}

err_t public_code(mixstack::ErrorCode code) {
  using mixstack::ErrorCode;
  switch (code) {
    case ErrorCode::none:
      return 0;
    case ErrorCode::no_such_process:
      return err_noproc;
    case ErrorCode::no_such_thread:
      return err_nothrd;
    case ErrorCode::permission_denied:
    case ErrorCode::already_traced:
      return err_perm;
    case ErrorCode::process_changed:
      return err_procexit;
    case ErrorCode::thread_not_stopped:
      return err_proccontrol;
    case ErrorCode::unreadable_memory:
      return err_procread;
    case ErrorCode::unsupported:
    case ErrorCode::unsupported_cpu:
      return err_unsupported;
    case ErrorCode::io_error:
    case ErrorCode::not_found:
      return err_nofile;
    case ErrorCode::invalid_argument:
      return err_badparam;
    case ErrorCode::no_unwind_info:
    case ErrorCode::register_unknown:
    case ErrorCode::stack_not_advancing:
    case ErrorCode::bad_return_address:
    case ErrorCode::malformed:
    case ErrorCode::truncated:
    case ErrorCode::limit_exceeded:
      return err_nostepper;
    default:
      return err_internal;
  }
}

void set_error(const mixstack::Error& error, const char* doing) {
  const err_t code = public_code(error.code);
  std::string text = std::string(doing) + ": " + words_for(code);
  if (error.code == mixstack::ErrorCode::already_traced) text += " (it is traced already)";
  if (error.os_error != 0) text += std::string(", ") + std::strerror(error.os_error);
  setLastError(code, text.c_str());
}

void set_stop_error(mixstack::StopReason reason, const mixstack::Error& error) {
  using mixstack::StopReason;
  err_t code = err_nostepper;
  if (reason == StopReason::end_of_stack) code = err_stackbottom;
  if (reason == StopReason::unreadable_memory || reason == StopReason::stack_truncated) code = err_procread;
  if (reason == StopReason::max_frames) code = err_internal;
  if (reason == StopReason::not_captured)
    code = error.code != mixstack::ErrorCode::none ? public_code(error.code) : err_nothrd;
  setLastError(code, words_for(reason));
}

}  // namespace Dyninst::Stackwalker
