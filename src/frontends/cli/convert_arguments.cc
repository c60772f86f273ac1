#include "frontends/cli/convert_arguments.h"

#include <fmt/core.h>

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"
#include "frontends/cli/profile_options.h"

namespace mixstack::cli {
namespace {

using formats::Format;

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

}  // namespace

Invocation parse_convert(std::vector<std::string> arguments) {
  ConvertArguments convert;
  RawProfileOptions raw;
  std::string format;
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::convert, {}, {}}, "mixstack convert",
      [&](OptionSet& options) {
        options.positional("FILE", convert.in);
        options.value("--out", convert.out);
        options.value("--format", format);
        options.flag("--quiet", convert.quiet);
        options.value("--symbol-path", convert.symbol_path);
        declare_profile_options(options, raw, convert.options);
      },
      convert_page());
  if (result.action != Invocation::Action::convert) return result;
  if (convert.in.empty()) return wrong("which recording? mixstack convert FILE.mxr -o FILE.html");
  for (const std::string& text :
       {read_format(format, convert.out, convert.format), read_profile_options(raw, convert.options)})
    if (!text.empty()) return wrong(text);
  result.convert = std::move(convert);
  return result;
}

Invocation parse_diff(std::vector<std::string> arguments) {
  DiffArguments diff;
  RawProfileOptions raw;
  std::string format;
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::diff, {}, {}}, "mixstack diff",
      [&](OptionSet& options) {
        options.positional("FILE", diff.before);
        options.positional("AFTER_FILE", diff.after);
        options.value("--out", diff.out);
        options.value("--format", format);
        options.flag("--quiet", diff.quiet);
        declare_profile_options(options, raw, diff.options);
      },
      diff_page());
  if (result.action != Invocation::Action::diff) return result;
  if (diff.after.empty()) return wrong("which two recordings? mixstack diff BEFORE.mxr AFTER.mxr -o FILE.html");
  for (const std::string& text : {read_format(format, diff.out, diff.format), read_profile_options(raw, diff.options)})
    if (!text.empty()) return wrong(text);
  if (diff.format != Format::text && diff.format != Format::folded && diff.format != Format::html)
    return wrong("a difference can be text, folded or html");
  result.diff = std::move(diff);
  return result;
}

}  // namespace mixstack::cli
