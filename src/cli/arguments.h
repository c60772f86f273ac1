// The command line as data.
#pragma once

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

/// The outcome of reading a command line.
struct Invocation {
  enum class Action : std::uint8_t { dump, print, usage_error };
  Action action = Action::usage_error;
  DumpArguments dump;  ///< for `dump`
  std::string text;    ///< for `print` (help, version) the text, for `usage_error` what is wrong
};

/// Reads the arguments after the program's name. Never exits, never prints.
[[nodiscard]] Invocation parse_arguments(std::vector<std::string> arguments);

}  // namespace mixstack::cli
