// Translates mixstack's errors to those of the StackwalkerAPI.
#pragma once

#include <string>

#include "mixstack/frame.h"
#include "mixstack/result.h"
#include "stackwalker/swk_errors.h"

namespace Dyninst::Stackwalker {

[[nodiscard]] err_t public_code(mixstack::ErrorCode code);
/// Sets the error of the calling thread; `doing` says what failed.
void set_error(const mixstack::Error& error, const char* doing);
/// Sets the reason why a stack is cut.
void set_stop_error(mixstack::StopReason reason, const mixstack::Error& error);
/// Sets an error and returns false: `return failed(err_badparam, "...")`.
bool failed(err_t code, const char* text);
/// A line for setDebug; costs nothing while it is off.
void trace_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace Dyninst::Stackwalker
