// What the parsers of several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"

namespace mixstack::cli {

[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t limit);
/// "20", "20ms" and "2s" are durations, as are "5m" and "1h".
[[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view text);
/// A number of `least` to `most`. An empty answer when all is well.
[[nodiscard]] std::string read_rate(const std::string& name, const std::string& text, std::uint64_t most,
                                    std::uint32_t& out, std::uint64_t least = 0);
/// A duration; a number alone is seconds.
[[nodiscard]] std::string read_seconds(const std::string& name, const std::string& text,
                                       std::chrono::milliseconds& out);

/// The help of a command, with what its parser knows: completions and the manual page are made from both.
[[nodiscard]] Invocation help_of(const CLI::App& app, std::string_view text);
[[nodiscard]] Invocation wrong(std::string text);
/// CLI11's refusals in our words.
[[nodiscard]] Invocation refused(const CLI::Error& error, const CLI::App& app);
/// The word nearest to a wrong one, if it is near: ". Did you mean 'dump'?"
[[nodiscard]] std::string nearest(std::string_view wrong, const std::vector<std::string>& words);

/// Commands with few options: the parser is told them by `declare`.
template <class Declare>
Invocation parse_small(std::vector<std::string> arguments, Invocation result, const char* name, Declare declare,
                       std::string_view help) {
  CLI::App app("", name);
  bool wants_help = false;
  app.set_help_flag();
  app.add_flag("-h,--help", wants_help);
  declare(app);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Error& error) {
    return refused(error, app);
  }
  if (wants_help) return help_of(app, help);
  return result;
}

}  // namespace mixstack::cli
