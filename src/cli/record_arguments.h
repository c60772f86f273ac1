// What `mixstack record` was asked to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack::cli {

/// How samples are taken.
enum class RecordMode : std::uint8_t {
  automatic,  ///< wall time, by the gentlest way there is
  cpu,        ///< what runs, by perf events
  wall,       ///< all threads
};

struct RecordArguments {
  std::vector<std::uint32_t> pids;
  std::string name;                  ///< all .NET processes that are called so
  std::vector<std::string> command;  ///< to start; empty: attach
  RecordMode mode = RecordMode::automatic;
  std::uint32_t hertz = 0;                ///< 0: what is usual for the mode
  std::chrono::milliseconds duration{0};  ///< 0: until a signal, or the end of the process
  std::string out;                        ///< empty: a name made of the process's and the time
  std::string format;                     ///< empty: by the name of the file
  double most_held = 0.01;                ///< share of its time for which a thread may be held
  std::chrono::milliseconds rotate{0};    ///< a file of its own for each such time; 0: one for all
  bool no_stop = false;                   ///< stop nothing, whatever cannot be seen then
  bool subprocesses = false;
  bool by_thread = false;
  bool idle = false;
  std::uint8_t activities = 0;  ///< to be written, as of ProfileOptions
  bool gc_only = false;
  bool managed_only = false;
  bool kernel = false;
  bool async_callers = false;  ///< async methods that await what is sampled, outside of its thread
  bool no_names = false;       ///< of native code: it is named later
  bool serve = false;
  std::uint16_t port = 0;                      ///< of the page; 0: a free one
  std::string push;                            ///< URL of a store; empty: nothing is sent
  std::chrono::milliseconds push_interval{0};  ///< 0: as usual
  std::string push_name;                       ///< empty: that of the command
  std::string push_header_file, push_spool;    ///< empty: none; as usual
  std::vector<std::string> push_labels;        ///< NAME=VALUE
  bool stats = false;
  bool quiet = false;
  std::vector<std::string> include, exclude;
};

struct Invocation;
[[nodiscard]] Invocation parse_record(std::vector<std::string> arguments);

}  // namespace mixstack::cli
