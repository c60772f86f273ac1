// The command from its arguments to its exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontends/cli/exit_code.h"
#include "mixstack/session.h"

namespace mixstack::cli {

/// A session whose captures stop nothing. Errors: those of Session::open_process and bpf::open_unstopped.
[[nodiscard]] Result<std::unique_ptr<Session>> open_unstopped_process(std::uint32_t pid);

/// As Session::open_process, but threads that do not stop in time are captured without a stop, if that is allowed, and
/// the sessions of one such function share what is known of images.
[[nodiscard]] std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> process_opener();

/// The program's dependencies, replaced in tests.
struct Environment {
  int out = 1;  ///< file descriptors, borrowed
  int err = 2;
  std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> open_process = process_opener();
  std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> open_unstopped = open_unstopped_process;
  std::function<Result<std::unique_ptr<Session>>(const CoreOptions& options)> open_core = Session::open_core;
  bool json_messages = false;  ///< each failure on `err` is a line of JSON (docs/automation.md)
  std::string search_path;     ///< PATH, to find coredumpctl and less
  /// Takes large objects that need no destruction, because the process ends soon.
  std::function<void(std::shared_ptr<void>)> leave_to_the_end = [](const std::shared_ptr<void>&) {};
};

/// Runs the command and returns its exit code as a number. `arguments` do not include the program's name.
[[nodiscard]] int run_program(std::vector<std::string> arguments, const Environment& environment = {});

}  // namespace mixstack::cli
