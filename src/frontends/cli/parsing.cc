#include "frontends/cli/parsing.h"

#include <fmt/core.h>

#include <charconv>

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

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t limit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > limit) return std::nullopt;
  return value;
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

std::string read_rate(const std::string& name, const std::string& text, std::uint64_t most, std::uint32_t& out,
                      std::uint64_t least) {
  if (text.empty()) return {};
  const auto value = whole_number(text, most);
  if (!value || *value < least) return fmt::format("{}: '{}' is not a number of {} to {}", name, text, least, most);
  out = static_cast<std::uint32_t>(*value);
  return {};
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

std::string OptionSet::names_of(std::string_view name, std::string_view also) const {
  std::string all;
  const HelpEntry* entry = help::find_entry(page_.blocks, name);
  for (const std::string& one : entry == nullptr ? std::vector{std::string(name)} : entry->names())
    all += (all.empty() ? "" : ",") + one;
  return also.empty() ? all : all + "," + std::string(also);
}

Invocation help_of(const CLI::App& app, const HelpPage& page) {
  Invocation result{Invocation::Action::print, {}, help::help_text(page)};
  result.options = option_shapes(app);
  return result;
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

Invocation refused(const CLI::Error& error, const CLI::App& app) {
  const std::string_view text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return wrong(std::string(text));
  // "The following argument was not expected: X"
  const std::string_view rest = text.substr(std::min(text.find(':'), text.size()));
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  const std::string_view first = rest.substr(std::min<std::size_t>(2, rest.size()));
  return wrong(fmt::format("unexpected argument{}{}", rest,
                           nearest(first.substr(0, std::min(first.find_first_of(" ="), first.size())), words)));
}

}  // namespace mixstack::cli
