#include "frontends/cli/exit_code.h"

#include "base/system/proc_mount.h"
#include "output/report/errors.h"

namespace mixstack::cli {

std::string_view exit_code_name(ExitCode code) {
  constexpr std::string_view kNames[] = {
      "ok",      "internal",        "usage",  "no_such_process", "permission", "already_traced", "unsupported",
      "partial", "process_changed", "output", "resources",       "stuck",      "may_end"};
  return kNames[static_cast<std::size_t>(code)];
}

ExitCode exit_code_of(Problem problem) {
  switch (problem) {
    case Problem::none:
      return ExitCode::ok;
    case Problem::no_such_process:
    case Problem::is_thread:
    case Problem::no_such_thread:
      return ExitCode::no_such_process;
    case Problem::permission:
    case Problem::hidden:
      return ExitCode::permission;
    case Problem::resources:
    case Problem::no_proc:
    case Problem::foreign_proc:
      return ExitCode::resources;
    case Problem::already_traced:
      return ExitCode::already_traced;
    case Problem::zombie:
    case Problem::kernel_thread:
    case Problem::is_self:
    case Problem::unsupported_cpu:
      return ExitCode::unsupported;
    case Problem::process_changed:
      return ExitCode::process_changed;
    case Problem::other:
      break;
  }
  return ExitCode::internal;
}

ExitCode exit_code_of_core(const Error& error) {
  if (report::is_shortage(error.os_error)) return ExitCode::resources;
  switch (error.code) {
    case ErrorCode::not_found:
      return ExitCode::no_such_process;
    case ErrorCode::permission_denied:
      return ExitCode::permission;
    case ErrorCode::malformed:
    case ErrorCode::unsupported:
    case ErrorCode::unsupported_cpu:
    case ErrorCode::truncated:
      return ExitCode::unsupported;
    case ErrorCode::limit_exceeded:  // larger than any core; with an errno, writing the temporary file failed
      return error.os_error == 0 ? ExitCode::unsupported : ExitCode::internal;
    default:
      return ExitCode::internal;
  }
}

ExitCode exit_code_of_agent(const Error& error) {
  if (error == base::other_pid_namespace_error()) return ExitCode::resources;
  switch (error.code) {
    case ErrorCode::no_such_process:
      return ExitCode::no_such_process;
    case ErrorCode::permission_denied:
      return ExitCode::permission;
    case ErrorCode::already_traced:
      return ExitCode::already_traced;
    case ErrorCode::process_changed:
      return ExitCode::process_changed;
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::mismatch:
    case ErrorCode::malformed:
      return ExitCode::unsupported;
    default:
      return ExitCode::internal;
  }
}

}  // namespace mixstack::cli
