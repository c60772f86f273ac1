// Functions shared by the parsers of several commands.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/cli/arguments.h"
#include "frontends/cli/help.h"

namespace mixstack::cli {

[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t limit);
/// A duration: "20" and "20ms" are milliseconds; "2s", "5m", "1h".
[[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view text);
/// Reads a number from `least` to `most`. Returns "" or the error for the user.
[[nodiscard]] std::string read_rate(const std::string& name, const std::string& text, std::uint64_t most,
                                    std::uint32_t& out, std::uint64_t least = 0);
/// Reads a duration; a number alone is seconds. Returns "" or the error for the user.
[[nodiscard]] std::string read_seconds(const std::string& name, const std::string& text,
                                       std::chrono::milliseconds& out);

/// Declares options at a parser: all their names are those of the command's page, which is found by one of them.
class OptionSet {
 public:
  /// Borrows both.
  OptionSet(CLI::App& app, const HelpPage& page) : app_(app), page_(page) {}
  /// `also`: another spelling, which no page shows.
  template <class T>
  CLI::Option* value(std::string_view name, T& to, std::string_view also = {}) {
    return app_.add_option(names_of(name, also), to);
  }
  CLI::Option* flag(std::string_view name, bool& to) { return app_.add_flag(names_of(name, {}), to); }
  template <class T>
  CLI::Option* positional(const std::string& word, T& to) {
    return app_.add_option(word, to);
  }

 private:
  /// "-o,--out" for "--out".
  [[nodiscard]] std::string names_of(std::string_view name, std::string_view also) const;

  CLI::App& app_;
  const HelpPage& page_;
};

/// The help of a command with the options of its parser: the source of completions and the manual page.
[[nodiscard]] Invocation help_of(const CLI::App& app, const HelpPage& page);
[[nodiscard]] Invocation wrong(std::string text);
/// Turns an error of CLI11 into a usage error, with a suggestion.
[[nodiscard]] Invocation refused(const CLI::Error& error, const CLI::App& app);
/// The word nearest to a wrong one, if it is near: ". Did you mean 'dump'?"
[[nodiscard]] std::string nearest(std::string_view wrong, const std::vector<std::string>& words);

/// Parses a command with few options, which `declare` adds to an OptionSet.
template <class Declare>
Invocation parse_small(std::vector<std::string> arguments, Invocation result, const char* name, Declare declare,
                       const HelpPage& page) {
  CLI::App app("", name);
  bool wants_help = false;
  app.set_help_flag();
  app.add_flag("-h,--help", wants_help);
  OptionSet options(app, page);
  declare(options);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Error& error) {
    return refused(error, app);
  }
  if (wants_help) return help_of(app, page);
  return result;
}

}  // namespace mixstack::cli
