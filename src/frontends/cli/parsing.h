// The line of one command while it is read. An option is declared once, with the variable that it fills, the kind of
// its value and the sentence for a wrong one; what is left to a command are checks between options.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontends/cli/arguments.h"
#include "frontends/cli/help.h"

namespace mixstack::cli {

[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t limit);
/// The number of a process or thread.
[[nodiscard]] std::optional<std::uint32_t> id_number(std::string_view text);
/// A duration: "20" and "20ms" are milliseconds; "2s", "5m", "1h".
[[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view text);
/// Reads a duration; a number alone is seconds. Returns "" or the error for the user.
[[nodiscard]] std::string read_seconds(const std::string& name, const std::string& text,
                                       std::chrono::milliseconds& out);
/// "512M", "8G", "100K": bytes.
[[nodiscard]] std::optional<std::uint64_t> byte_size(std::string_view text);

/// Numbers that an option takes.
struct NumberRange {
  std::uint64_t least = 0, most = UINT32_MAX;
};

class CommandLine {
 public:
  /// Says what is wrong: a sentence for the user; "": nothing.
  using Check = std::function<std::string()>;
  /// Reads a value that is given. Returns "" or a sentence for the user.
  using Read = std::function<std::string(const std::string& text)>;

  CommandLine(Invocation::Action action, HelpPage page);
  /// Options fill the arguments in it.
  [[nodiscard]] Invocation& result() { return result_; }

  // Names of options are found in the page by one of them; a name without "-" is a positional argument. `also`: another
  // spelling, which no page shows. Options fill what is borrowed here.
  /// Text as it stands; a vector takes it as often as it is given.
  template <class T>
  CLI::Option* text(std::string_view name, T& to, std::string_view also = {}) {
    return app_.add_option(names_of(name, also), to);
  }
  CLI::Option* flag(std::string_view name, bool& to) { return app_.add_flag(names_of(name, {}), to); }
  CLI::Option* flag(std::string_view name, std::function<void()> given) {
    return app_.add_flag_callback(names_of(name, {}), std::move(given));
  }
  /// A flag that takes away what is usual.
  CLI::Option* off(std::string_view name, bool& to) {
    return flag(name, [&to] { to = false; });
  }
  CLI::Option* value(const char* name, Read read, std::string_view also = {});
  /// `what` ends the sentence for others: "is not a number of frames"; null: it tells the range.
  template <class T>
  CLI::Option* number(const char* name, T& to, NumberRange range, const char* what = nullptr) {
    return value(name, [=, &to](const std::string& text) {
      const auto number = whole_number(text, range.most);
      if (!number || *number < range.least) return no_number(name, text, range, what);
      to = static_cast<T>(*number);
      return std::string();
    });
  }
  /// A time; a number alone is seconds.
  template <class T>
  CLI::Option* seconds(const char* name, T& to) {
    return value(name, [name, &to](const std::string& text) {
      std::chrono::milliseconds time{};
      std::string wrong = read_seconds(name, text, time);
      if (wrong.empty()) to = time;
      return wrong;
    });
  }
  /// A time; a number alone is milliseconds. `example` is in the sentence for others.
  CLI::Option* milliseconds(const char* name, std::chrono::milliseconds& to, const char* example);
  /// One of some words, which completions offer.
  template <class T>
  CLI::Option* choice(const char* name, T& to,
                      const std::vector<std::pair<const char*, std::type_identity_t<T>>>& words,
                      std::string_view also = {}) {
    std::vector<std::string> all;
    all.reserve(words.size());
    for (const auto& [word, meant] : words) all.emplace_back(word);
    const auto read = [name, words, all, &to](const std::string& text) {
      for (const auto& [word, meant] : words) {
        if (text != word) continue;
        to = meant;
        return std::string();
      }
      return none_of(name, text, all);
    };
    return value(name, read, also)->type_name(CLI::detail::join(all, "|"));
  }

  /// Whether a value is given.
  [[nodiscard]] bool has(std::string_view name) const;
  /// The first wrong value, by the order of declaration.
  [[nodiscard]] Check values() const;
  /// Reads the words: the help, or what is wrong first, or `result`. Checks are asked one after the other, after all
  /// texts and flags are there.
  [[nodiscard]] Invocation read(std::vector<std::string> words, const std::vector<Check>& checks);
  [[nodiscard]] Invocation read(std::vector<std::string> words) { return read(std::move(words), {values()}); }
  /// After `read`: a required argument was not there.
  [[nodiscard]] bool lacks_required() const { return lacks_required_; }

 private:
  struct Value {
    std::string name, text;
    Read read;
  };
  /// "-o,--out" for "--out".
  [[nodiscard]] std::string names_of(std::string_view name, std::string_view also) const;
  [[nodiscard]] static std::string no_number(const char* name, const std::string& text, NumberRange range,
                                             const char* what);
  [[nodiscard]] static std::string none_of(std::string_view name, const std::string& text,
                                           const std::vector<std::string>& words);
  [[nodiscard]] Invocation refused(const CLI::Error& error) const;

  CLI::App app_;
  HelpPage page_;
  Invocation result_;
  std::deque<Value> values_;  ///< a deque: the parser fills the texts
  bool wants_help_ = false, lacks_required_ = false;
};

/// Where the files of a core are: `--sysroot`, `--exe`, `--only-sysroot`.
void declare_core_files(CommandLine& line, CoreOptions& core);
[[nodiscard]] bool has_core_files(const CoreOptions& core);
/// Takes a word that is a pid or the path of a core. `only_one`: the sentence where not exactly one thing is said.
[[nodiscard]] std::string read_subject(const std::string& word, Subject& subject, const char* only_one);

/// Reads --state: "running,waiting"; "gc" is not a state, but can be combined with them. Returns "" or the error for
/// the user.
[[nodiscard]] std::string read_states(std::string_view text, ProfileOptions& options);

[[nodiscard]] Invocation wrong(std::string text);
/// The word nearest to a wrong one, if it is near: ". Did you mean 'dump'?"
[[nodiscard]] std::string nearest(std::string_view wrong, const std::vector<std::string>& words);

// The commands, each from the words behind its name.
[[nodiscard]] Invocation parse_dump(std::vector<std::string> words);
[[nodiscard]] Invocation parse_symbols(std::vector<std::string> words);
[[nodiscard]] Invocation parse_agent(std::vector<std::string> words);
[[nodiscard]] Invocation parse_why(std::vector<std::string> words);
[[nodiscard]] Invocation parse_memory(std::vector<std::string> words);
[[nodiscard]] Invocation parse_record(std::vector<std::string> words);
[[nodiscard]] Invocation parse_top(std::vector<std::string> words);
[[nodiscard]] Invocation parse_convert(std::vector<std::string> words);
[[nodiscard]] Invocation parse_diff(std::vector<std::string> words);

}  // namespace mixstack::cli
