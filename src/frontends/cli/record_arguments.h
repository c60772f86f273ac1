// Arguments of `mixstack record`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/record.h"

namespace mixstack::cli {

struct RecordArguments {
  std::vector<std::uint32_t> pids;
  std::string name;                  ///< all .NET processes of this name
  std::vector<std::string> command;  ///< program to start; empty: attach
  RecordMode mode = RecordMode::wall;
  std::uint32_t hertz = 0;                ///< 0: the mode's default
  std::chrono::milliseconds duration{0};  ///< 0: until a signal, or the end of the process
  std::string out;                        ///< empty: a name made of the process's name and the time
  std::string format;                     ///< empty: by the name of the file
  double most_held = 0.01;                ///< largest share of its time for which a thread may be stopped
  std::chrono::milliseconds rotate{0};    ///< one file per such time; 0: one for all
  bool no_stop = false;                   ///< never stop threads, even if waiting ones cannot be seen then
  bool subprocesses = false;
  bool by_thread = false;
  bool idle = false;
  std::uint8_t activities = 0;  ///< states to write, as in ProfileOptions
  bool gc_only = false;
  bool managed_only = false;
  bool kernel = false;
  bool async_callers = false;  ///< adds awaiting async methods as outermost frames
  bool no_names = false;       ///< native code is named later
  bool serve = false;
  std::uint16_t port = 0;                      ///< of the page; 0: a free one
  std::string push;                            ///< URL of a store; empty: nothing is sent
  std::chrono::milliseconds push_interval{0};  ///< 0: the default
  std::string push_name;                       ///< empty: the command's name
  std::string push_header_file, push_spool;    ///< empty: no file; the default folder
  std::vector<std::string> push_labels;        ///< NAME=VALUE
  bool stats = false;
  bool quiet = false;
  std::vector<std::string> include, exclude;
};

struct Invocation;
[[nodiscard]] Invocation parse_record(std::vector<std::string> arguments);

}  // namespace mixstack::cli
