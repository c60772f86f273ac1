// The command line as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontends/cli/convert_arguments.h"
#include "frontends/cli/memory_arguments.h"
#include "frontends/cli/option_shape.h"
#include "frontends/cli/record_arguments.h"
#include "frontends/cli/terminal.h"
#include "frontends/cli/top_arguments.h"
#include "frontends/cli/view_arguments.h"
#include "frontends/cli/why_arguments.h"
#include "mixstack/session.h"

namespace mixstack::cli {

/// Arguments of `mixstack dump`.
struct DumpArguments {
  std::uint32_t pid = 0;                   ///< 0: a core, or processes by name
  std::vector<std::uint32_t> more_pids;    ///< further processes
  std::string name;                        ///< all .NET processes of this name
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
  bool heap = false;   ///< also async methods that only a search of the heap finds
  std::uint64_t heap_limit = 0;
  ColorMode color = ColorMode::automatic;
};

/// Arguments of `mixstack agent`.
struct AgentArguments {
  enum class Verb : std::uint8_t { attach, status, stop, record };
  Verb verb = Verb::status;
  std::uint32_t pid = 0;
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;
  std::uint32_t wall_threads = 0;         ///< 0: the agent's default
  std::string out;                        ///< `attach`: the process's file; `record`: ours, empty: standard output
  bool json = false;                      ///< format of samples; of `status`: of the answer
  bool native_only = false;               ///< no managed code in walks
  std::string library;                    ///< empty: the one beside the command
  std::chrono::milliseconds duration{0};  ///< of `record`; 0: until a signal
  std::chrono::milliseconds timeout{10'000};
};

/// Arguments of `mixstack ps`.
struct PsArguments {
  std::string name;  ///< only processes of this name; empty: all
  bool json = false;
  bool wide = false;
  bool quick = false;  ///< only PIDs and commands, without measuring CPU
};

/// Arguments of `mixstack doctor`.
struct DoctorArguments {
  std::uint32_t pid = 0;  ///< 0: check the machine only
  bool json = false;
};

/// Arguments of `mixstack symbols`.
struct SymbolsArguments {
  enum class Verb : std::uint8_t { status, fetch };
  Verb verb = Verb::status;
  DumpArguments of;       ///< the process or core
  std::string recording;  ///< a raw recording instead; empty: none
  bool all = false;       ///< all modules, not only those that stacks run through
  bool json = false;
  std::chrono::milliseconds timeout{600'000};  ///< of `fetch`, for all files together
};

/// Arguments of `mixstack pack`.
struct PackArguments {
  std::uint32_t pid = 0;  ///< 0: a core
  CoreOptions core;       ///< path empty: a process
  std::string out;        ///< "-": standard output
  bool full = false;
  bool with_environment = false;
  bool with_command_line = false;
  bool force = false;  ///< replace an existing file
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
    why,
    memory
  };
  Action action = Action::usage_error;
  DumpArguments dump;      ///< for `dump`
  std::string text;        ///< for `print` the text (help, version), for `usage_error` the error
  AgentArguments agent{};  ///< for `agent`
  PsArguments ps{};
  DoctorArguments doctor{};
  std::vector<OptionShape> options{};  ///< with the help of a command: the options of its parser
  SymbolsArguments symbols{};
  PackArguments pack{};
  RecordArguments record{};
  ConvertArguments convert{};
  DiffArguments diff{};
  ViewArguments view{};
  TopArguments top{};
  WhyArguments why{};
  MemoryArguments memory{};
  std::string command{};  ///< for `usage_error`: the command whose --help to suggest; empty: the program's
};

/// The words that a command line may begin with.
[[nodiscard]] std::vector<std::string> command_names();

/// Reads the arguments after the program's name. Never exits, never prints.
[[nodiscard]] Invocation parse_arguments(std::vector<std::string> arguments);

}  // namespace mixstack::cli
