// Arguments of `mixstack memory`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/session.h"

namespace mixstack::cli {

enum class MemoryFormat : std::uint8_t { text, json, moment, html };

struct MemoryArguments {
  std::uint32_t pid = 0;  ///< 0: a core, or a process by name
  std::string name;
  CoreOptions core;  ///< path empty: a process
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

struct Invocation;
[[nodiscard]] Invocation parse_memory(std::vector<std::string> arguments);

}  // namespace mixstack::cli
