// The command line as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/convert_arguments.h"
#include "cli/option_shape.h"
#include "cli/record_arguments.h"
#include "cli/top_arguments.h"
#include "cli/view_arguments.h"
#include "cli/why_arguments.h"
#include "mixstack/session.h"

namespace mixstack::cli {

enum class ColorMode : std::uint8_t { automatic, always, never };

/// What `mixstack dump` was asked to do.
struct DumpArguments {
  std::uint32_t pid = 0;                   ///< 0: a core, or processes by name
  std::vector<std::uint32_t> more_pids;    ///< further processes
  std::string name;                        ///< all .NET processes that are called so
  CoreOptions core;                        ///< path empty: a process
  std::string stored_core;                 ///< pid or name of a core in the system's store
  std::optional<std::string> symbol_path;  ///< in place of MIXSTACK_SYMBOL_PATH
  RuntimeOptions runtime;
  NativeLines native_lines = NativeLines::at_hand;
  DumpOptions options;
  bool json = false;
  bool managed_only = false;
  bool merge = false;
  bool tree = false;
  bool all = false;
  bool wide = false;
  bool no_pager = false;
  bool raw_names = false;
  bool no_stop = false;
  bool no_fold = false;
  bool async = false;  ///< async methods, too
  bool heap = false;   ///< those that only a search of the heap finds
  std::uint64_t heap_limit = 0;
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

/// What `mixstack ps` was asked to do.
struct PsArguments {
  std::string name;  ///< only those that are called so; empty: all
  bool json = false;
  bool wide = false;
  bool quick = false;  ///< pids and commands alone, at once
};

/// What `mixstack doctor` was asked to do.
struct DoctorArguments {
  std::uint32_t pid = 0;  ///< 0: of no process in particular
  bool json = false;
};

/// What `mixstack symbols` was asked to do.
struct SymbolsArguments {
  enum class Verb : std::uint8_t { status, fetch };
  Verb verb = Verb::status;
  DumpArguments of;       ///< of which process or core
  std::string recording;  ///< a raw recording in their place; empty: none
  bool all = false;       ///< all modules, not only those that stacks run through
  bool json = false;
  std::chrono::milliseconds timeout{600'000};  ///< of `fetch`, for all files together
};

/// What `mixstack pack` was asked to do.
struct PackArguments {
  std::uint32_t pid = 0;  ///< 0: a core
  CoreOptions core;       ///< path empty: a process
  std::string out;        ///< "-": standard output
  bool full = false;
  bool with_environment = false;
  bool with_command_line = false;
  bool force = false;  ///< replace a file that is there
};

/// The outcome of reading a command line.
struct Invocation {
  enum class Action : std::uint8_t {
    dump,
    print,
    usage_error,
    agent,
    ps,
    doctor,
    symbols,
    pack,
    record,
    convert,
    diff,
    view,
    top,
    why
  };
  Action action = Action::usage_error;
  DumpArguments dump;      ///< for `dump`
  std::string text;        ///< for `print` (help, version) the text, for `usage_error` what is wrong
  AgentArguments agent{};  ///< for `agent`
  PsArguments ps{};
  DoctorArguments doctor{};
  std::vector<OptionShape> options{};  ///< with the help of a command: what its parser knows
  SymbolsArguments symbols{};
  PackArguments pack{};
  RecordArguments record{};
  ConvertArguments convert{};
  DiffArguments diff{};
  ViewArguments view{};
  TopArguments top{};
  WhyArguments why{};
  std::string command{};  ///< for `usage_error`: whose help tells more; empty: that of all
};

/// The words that a command line may begin with.
[[nodiscard]] std::vector<std::string> command_names();

/// Reads the arguments after the program's name. Never exits, never prints.
[[nodiscard]] Invocation parse_arguments(std::vector<std::string> arguments);

}  // namespace mixstack::cli
