// Arguments of `mixstack convert` and `mixstack diff`.
#include <fmt/core.h>

#include <algorithm>

#include "frontends/cli/parsing.h"

namespace mixstack::cli {
namespace {

using formats::Format;
using Action = Invocation::Action;

/// The format by the word if one is given, else by the file's name; without either, text on standard output.
std::string read_format(const std::string& word, std::string& out, Format& format) {
  if (out.empty()) out = "-";
  if (!word.empty()) {
    const auto called = formats::format_called(word);
    if (called) format = *called;
    return called ? "" : fmt::format("--format: '{}' is none of {}", word, formats::all_format_words());
  }
  if (out == "-") return {};
  const auto by_name = formats::format_of(out);
  if (by_name) format = *by_name;
  return by_name ? ""
                 : fmt::format("'{}': its end tells no format; say it with -f: {}", out, formats::all_format_words());
}

/// Which samples and frames are shown.
void declare_profile_options(CommandLine& line, ProfileOptions& options) {
  line.flag("--threads", options.by_thread);
  line.flag("--idle", options.idle);
  line.value("--state", [&options](const std::string& text) { return read_states(text, options); });
  line.choice(
      "--clock", options.clock,
      {{"auto", std::nullopt}, {"cpu", SampleClock::cpu}, {"wall", SampleClock::wall}, {"bytes", SampleClock::bytes}});
  line.flag("--managed-only", options.managed_only);
  line.off("--no-kernel", options.kernel);
  line.text("--include", options.include)->allow_extra_args(false);
  line.text("--exclude", options.exclude)->allow_extra_args(false);
  line.flag("--inverted", options.inverted);
}

}  // namespace

std::string read_states(std::string_view text, ProfileOptions& options) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    bool is_known = word == "gc";
    options.gc_only = options.gc_only || is_known;
    for (unsigned a = 0; a <= static_cast<unsigned>(kLastActivity) && !is_known; a++) {
      const auto activity = static_cast<Activity>(a);
      is_known = word == word_of(activity);
      if (is_known) options.activities = static_cast<std::uint8_t>(options.activities | activity_bit(activity));
    }
    if (!is_known)
      return fmt::format("--state: '{}' is none of running, runnable, waiting, blocked, unknown, gc", word);
  }
  // "gc" alone selects every state, so include waiting threads.
  if (options.gc_only && options.activities == 0) options.idle = true;
  return {};
}

Invocation parse_convert(std::vector<std::string> words) {
  CommandLine line(Action::convert, convert_page());
  ConvertArguments& convert = line.result().convert;
  std::string format;
  line.text("FILE", convert.in);
  line.text("--out", convert.out);
  line.text("--format", format);
  line.flag("--quiet", convert.quiet);
  line.text("--symbol-path", convert.symbol_path);
  declare_profile_options(line, convert.options);
  const auto has_file = [&] {
    return convert.in.empty() ? "which recording? mixstack convert FILE.mxr -o FILE.html" : "";
  };
  return line.read(std::move(words),
                   {has_file, [&] { return read_format(format, convert.out, convert.format); }, line.values()});
}

Invocation parse_diff(std::vector<std::string> words) {
  CommandLine line(Action::diff, diff_page());
  DiffArguments& diff = line.result().diff;
  std::string format;
  line.text("FILE", diff.before);
  line.text("AFTER_FILE", diff.after);
  line.text("--out", diff.out);
  line.text("--format", format);
  line.flag("--quiet", diff.quiet);
  declare_profile_options(line, diff.options);
  const auto has_files = [&] {
    return diff.after.empty() ? "which two recordings? mixstack diff BEFORE.mxr AFTER.mxr -o FILE.html" : "";
  };
  const auto can_be = [&] {
    const bool is_one = diff.format == Format::text || diff.format == Format::folded || diff.format == Format::html;
    return is_one ? "" : "a difference can be text, folded or html";
  };
  return line.read(std::move(words),
                   {has_files, [&] { return read_format(format, diff.out, diff.format); }, line.values(), can_be});
}

}  // namespace mixstack::cli
