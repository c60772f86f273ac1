// The command line as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/session.h"

namespace mixstack::cli {

enum class ColorMode : std::uint8_t { automatic, always, never };

/// What `mixstack dump` was asked to do.
struct DumpArguments {
  std::uint32_t pid = 0;    ///< 0: a core
  CoreOptions core;         ///< path empty: a process
  std::string stored_core;  ///< pid or name of a core in the system's store
  RuntimeOptions runtime;
  DumpOptions options;
  bool json = false;
  bool managed_only = false;
  bool merge = false;
  bool raw_names = false;
  bool no_fold = false;
  ColorMode color = ColorMode::automatic;
};

/// What `mixstack agent` was asked to do.
struct AgentArguments {
  enum class Verb : std::uint8_t { attach, status, stop, record };
  Verb verb = Verb::status;
  std::uint32_t pid = 0;
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;
  std::uint32_t wall_threads = 0;         ///< 0: as the agent likes
  std::string out;                        ///< `attach`: the process's file; `record`: ours, empty: standard output
  bool json = false;                      ///< format of samples; of `status`: of the answer
  bool native_only = false;               ///< no managed code in walks
  std::string library;                    ///< empty: the one beside the command
  std::chrono::milliseconds duration{0};  ///< of `record`; 0: until a signal
  std::chrono::milliseconds timeout{10'000};
};

/// The outcome of reading a command line.
struct Invocation {
  enum class Action : std::uint8_t { dump, print, usage_error, agent };
  Action action = Action::usage_error;
  DumpArguments dump;      ///< for `dump`
  std::string text;        ///< for `print` (help, version) the text, for `usage_error` what is wrong
  AgentArguments agent{};  ///< for `agent`
};

/// Reads the arguments after the program's name. Never exits, never prints.
[[nodiscard]] Invocation parse_arguments(std::vector<std::string> arguments);

}  // namespace mixstack::cli
