#include "frontends/cli/parsing.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace mixstack::cli {
namespace {

/// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Possible words are those of type_name("auto|always|never").
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  std::istringstream in(type);
  for (std::string word; std::getline(in, word, '|');) words.push_back(word);
  return words;
}

help::OptionShape shape(const CLI::Option& option) {
  help::OptionShape result;
  result.is_positional = option.get_positional();
  if (result.is_positional) result.names.push_back(option.get_single_name());
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.takes_value = option.get_items_expected_max() > 0;
  result.takes_many = option.get_items_expected_max() > 1;
  if (result.takes_value) result.choices = choices_of(option.get_type_name());
  return result;
}

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t limit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > limit) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> id_number(std::string_view text) {
  const auto number = whole_number(text, INT32_MAX);
  return number && *number != 0 ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<std::chrono::milliseconds> duration(std::string_view text) {
  constexpr std::uint64_t kLimit = 7 * 24 * 3'600'000;  // 168 hours, as `read_seconds` says
  std::uint64_t unit = 1;
  if (text.ends_with("ms")) {
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    text.remove_suffix(1);
    unit = 1000;
  } else if (text.ends_with('m')) {
    text.remove_suffix(1);
    unit = 60'000;
  } else if (text.ends_with('h')) {
    text.remove_suffix(1);
    unit = 3'600'000;
  }
  const auto number = whole_number(text, kLimit / unit);
  if (!number || *number == 0) return std::nullopt;
  return std::chrono::milliseconds(*number * unit);
}

std::string read_seconds(const std::string& name, const std::string& text, std::chrono::milliseconds& out) {
  if (text.empty()) return {};
  const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
  const auto time = duration(is_number ? text + "s" : text);
  if (!time)
    return fmt::format(
        "{}: '{}' is not a time like 10 or 10s (seconds), 500ms, 5m or 1h: a whole number from 1 on, at most 168h",
        name, text);
  out = *time;
  return {};
}

std::optional<std::uint64_t> byte_size(std::string_view text) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 44;
  unsigned shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (text.ends_with('G')) shift = 30;
  if (shift != 0) text.remove_suffix(1);
  const auto number = whole_number(text, kMost >> shift);
  return number ? std::optional(*number << shift) : std::nullopt;
}

CommandLine::CommandLine(Invocation::Action action, HelpPage page)
    : app_("", "mixstack " + page.command), page_(std::move(page)), result_{action, {}, {}} {
  app_.set_help_flag();
  app_.add_flag("-h,--help", wants_help_);
}

std::string CommandLine::names_of(std::string_view name, std::string_view also) const {
  std::string all;
  const HelpEntry* entry = help::find_entry(page_.blocks, name);
  for (const std::string& one : entry == nullptr ? std::vector{std::string(name)} : entry->names())
    all += (all.empty() ? "" : ",") + one;
  return also.empty() ? all : all + "," + std::string(also);
}

CLI::Option* CommandLine::value(const char* name, Read read, std::string_view also) {
  Value& value = values_.emplace_back(Value{name, {}, std::move(read)});
  return text(name, value.text, also);
}

CLI::Option* CommandLine::milliseconds(const char* name, std::chrono::milliseconds& to, const char* example) {
  return value(name, [=, &to](const std::string& text) {
    const auto time = duration(text);
    if (!time) return fmt::format("{}: '{}' is not a time like {}", name, text, example);
    to = *time;
    return std::string();
  });
}

std::string CommandLine::no_number(const char* name, const std::string& text, NumberRange range, const char* what) {
  if (what != nullptr) return fmt::format("{}: '{}' {}", name, text, what);
  return fmt::format("{}: '{}' is not a number of {} to {}", name, text, range.least, range.most);
}

std::string CommandLine::none_of(std::string_view name, const std::string& text,
                                 const std::vector<std::string>& words) {
  const std::string of = name.starts_with('-') ? std::string(name) + ": " : "";
  return fmt::format("{}'{}' is none of {}", of, text, fmt::join(words, ", "));
}

bool CommandLine::has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(),
                     [name](const Value& v) { return v.name == name && !v.text.empty(); });
}

CommandLine::Check CommandLine::values() const {
  return [this] {
    for (const Value& value : values_)
      if (std::string wrong = value.text.empty() ? "" : value.read(value.text); !wrong.empty()) return wrong;
    return std::string();
  };
}

Invocation CommandLine::read(std::vector<std::string> words, const std::vector<Check>& checks) {
  std::reverse(words.begin(), words.end());  // CLI11 takes a vector from its end
  try {
    app_.parse(std::move(words));
  } catch (const CLI::Error& error) {
    lacks_required_ = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    return refused(error);
  }
  if (wants_help_) {
    Invocation help{Invocation::Action::print, {}, help::help_text(page_)};
    for (const CLI::Option* option : app_.get_options()) help.options.push_back(shape(*option));
    return help;
  }
  for (const Check& check : checks)
    if (std::string text = check(); !text.empty()) return wrong(std::move(text));
  return std::move(result_);
}

/// Turns an error of CLI11 into a usage error, with a suggestion.
Invocation CommandLine::refused(const CLI::Error& error) const {
  const std::string_view text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return wrong(std::string(text));
  // "The following argument was not expected: X"
  const std::string_view rest = text.substr(std::min(text.find(':'), text.size()));
  std::vector<std::string> words;
  for (const CLI::Option* option : app_.get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  const std::string_view first = rest.substr(std::min<std::size_t>(2, rest.size()));
  return wrong(fmt::format("unexpected argument{}{}", rest,
                           nearest(first.substr(0, std::min(first.find_first_of(" ="), first.size())), words)));
}

void declare_core_files(CommandLine& line, CoreOptions& core) {
  line.text("--sysroot", core.sysroots)->allow_extra_args(false);
  line.text("--exe", core.executable);
  line.off("--only-sysroot", core.use_own_files);
}

bool has_core_files(const CoreOptions& core) {
  return !core.sysroots.empty() || !core.executable.empty() || !core.use_own_files;
}

std::string read_subject(const std::string& word, Subject& subject, const char* only_one) {
  std::string& path = subject.core.path;
  const auto given = {!word.empty(), !path.empty(), !subject.name.empty()};
  if (std::count(given.begin(), given.end(), true) != 1) return only_one;
  if (const auto pid = id_number(word)) {
    subject.pid = *pid;
  } else if (!word.empty()) {
    path = word;
  }
  return path.empty() && has_core_files(subject.core) ? "--sysroot, --exe and --only-sysroot are for cores" : "";
}

Invocation wrong(std::string text) { return {Invocation::Action::usage_error, {}, std::move(text)}; }

std::string nearest(std::string_view wrong, const std::vector<std::string>& words) {
  constexpr std::size_t kLongest = 64;
  if (wrong.size() > kLongest) return {};
  std::string best;
  std::size_t least = std::min<std::size_t>(wrong.size() / 2, 2) + 1;
  for (const std::string& word : words)
    if (const std::size_t d = distance(wrong, word); d < least) best = word, least = d;
  return best.empty() ? best : fmt::format(". Did you mean '{}'?", best);
}

}  // namespace mixstack::cli
