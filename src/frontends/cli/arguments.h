// The command line as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/words/recording_view.h"
#include "frontends/cli/terminal.h"
#include "mixstack/record.h"
#include "mixstack/report.h"
#include "mixstack/session.h"
#include "output/formats/format.h"
#include "output/help/command_table.h"
#include "output/push/piece_sender.h"

namespace mixstack::cli {

/// A process or a core.
struct Subject {
  std::uint32_t pid = 0;  ///< 0: a core, or a process by name
  std::string name;       ///< .NET processes of this name
  CoreOptions core;       ///< path empty: a process
};

/// Arguments of `mixstack dump`.
struct DumpArguments : Subject {
  std::vector<std::uint32_t> more_pids;    ///< further processes
  std::string stored_core;                 ///< pid or name of a core in the system's store
  std::optional<std::string> symbol_path;  ///< in place of MIXSTACK_SYMBOL_PATH
  RuntimeOptions runtime;
  NativeLines native_lines = NativeLines::at_hand;
  DumpOptions options;
  ReportOptions shown;  ///< what is in `options`, or known of a terminal, is not set
  bool json = false;
  bool wide = false;
  bool no_pager = false;
  bool no_stop = false;
  bool async = false;  ///< async methods, too
  bool heap = false;   ///< also async methods that only a search of the heap finds
  std::uint64_t heap_limit = 0;
  ColorMode color = ColorMode::automatic;
};

/// Arguments of `mixstack why`.
struct WhyArguments : Subject {
  bool json = false, dot = false, html = false;
  std::string out;                                    ///< a file; empty: standard output
  std::optional<std::chrono::milliseconds> sample{};  ///< time; none: a second, if something runs; 0: do not sample
  bool heap = false;                                  ///< search the heap for async methods
  std::uint64_t heap_limit = 0;                       ///< bytes of heap above which it is not searched
  bool data = false;                                  ///< the user's own data, too: variables, paths, commands
  std::chrono::milliseconds watch{0};                 ///< time between answers; 0: one answer
};

enum class MemoryFormat : std::uint8_t { text, json, moment, html };

/// Arguments of `mixstack memory`.
struct MemoryArguments : Subject {
  bool types = false;
  bool makers = false;
  std::chrono::milliseconds makers_time{2000};
  bool native = false;
  std::chrono::milliseconds native_time{10000};
  bool holders = false;
  std::string holders_of;  ///< a type or an address; empty: the tree alone
  std::chrono::milliseconds most_pause{50};
  std::chrono::milliseconds after{0};   ///< 0: one moment
  bool data = false;                    ///< contents of strings
  std::string before_file, after_file;  ///< `memory diff`; else empty
  MemoryFormat format = MemoryFormat::text;
  std::string out;  ///< a file; empty: standard output
};

/// Arguments of `mixstack record`.
struct RecordArguments {
  std::vector<std::uint32_t> pids;
  std::string name;                     ///< all .NET processes of this name
  std::vector<std::string> command;     ///< program to start; empty: attach
  RecordOptions options{};              ///< duration 0: until a signal, or the end of the process
  ProfileOptions shown{};               ///< which samples and frames are written
  std::string out;                      ///< empty: a name made of the process's name and the time
  std::string format;                   ///< empty: by the name of the file
  std::chrono::milliseconds rotate{0};  ///< one file per such time; 0: one for all
  bool subprocesses = false;
  bool no_names = false;  ///< native code is named later
  bool serve = false;
  std::uint16_t port = 0;           ///< of the page; 0: a free one
  push::PieceSenderOptions push{};  ///< URL empty: nothing is sent
  bool stats = false;
  bool quiet = false;
};

/// Arguments of `mixstack top`.
struct TopArguments {
  RecordArguments record;  ///< one process, the kind of samples, the selection of stacks
  std::chrono::milliseconds interval{1000};
  std::uint32_t count = 0;  ///< number of tables, without a terminal; 0: until the end
  std::uint32_t rows = 20;  ///< of each table
  bool whole = false;       ///< shares of the whole run
  bool by_thread = false;
};

/// Arguments of `mixstack convert`.
struct ConvertArguments {
  std::string in;
  std::string out;  ///< "-": standard output
  formats::Format format = formats::Format::text;
  ProfileOptions options{};
  std::optional<std::string> symbol_path;  ///< in place of MIXSTACK_SYMBOL_PATH
  bool quiet = false;                      ///< no remarks, only errors
};

/// Arguments of `mixstack diff`.
struct DiffArguments {
  std::string before, after;
  std::string out;                                 ///< "-": standard output
  formats::Format format = formats::Format::text;  ///< or folded, html
  ProfileOptions options{};
  bool quiet = false;
};

/// Arguments of `mixstack view`.
struct ViewArguments {
  std::string in;          ///< "-": standard input
  std::uint16_t port = 0;  ///< 0: one that is free
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
struct PackArguments : Subject {  ///< not by name
  std::string out;                ///< "-": standard output
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
  std::vector<help::OptionShape> options{};  ///< with the help of a command: the options of its parser
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

/// Every command with its options, from their pages (help.h) and parsers.
[[nodiscard]] help::CommandTable command_table();
/// The words that a command line may begin with.
[[nodiscard]] std::vector<std::string> command_names();

/// Reads the arguments after the program's name. Never exits, never prints.
[[nodiscard]] Invocation parse_arguments(std::vector<std::string> arguments);

}  // namespace mixstack::cli
