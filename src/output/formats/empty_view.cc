#include "output/formats/empty_view.h"

#include <fmt/format.h>

#include "base/words/name_pattern.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::formats {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::string words_on_case(const Recording& recording, const std::vector<std::string>& include) {
  for (const std::string& pattern : include) {
    std::string close;
    bool is_matched = false;
    for (std::uint32_t f = 0; f < recording.functions().size() && !is_matched; f++) {
      const std::string name = shown_name(recording, f);
      is_matched = name_matches(pattern, name);
      if (close.empty() && name_matches(lower(pattern), lower(name))) close = name;
    }
    if (is_matched || close.empty()) continue;
    return fmt::format("--include {}: upper and lower case are told apart, and it is written otherwise in {}",
                       report::escape_for_terminal(pattern), report::escape_for_terminal(close));
  }
  return {};
}

std::string empty_words(const Recording& recording, Format format, const ProfileOptions& options) {
  if (format == Format::recording || format == Format::html) return {};
  const RecordingView view = view_of(recording, options);
  if (view.shown != 0) return {};
  std::string text = "mixstack: there is nothing to show: no samples\n";
  if (view.idle_left_out != 0 && options.activities == 0) {
    text = fmt::format("mixstack: there is nothing to show: all threads waited; --idle shows {} of them\n",
                       report::counted(view.idle_left_out, "sample"));
  } else if (view.left_out != 0) {
    text = fmt::format("mixstack: there is nothing to show: the options leave out {}, all there are\n",
                       report::counted(view.left_out, "sample"));
    if (const std::string words = words_on_case(recording, options.include); !words.empty())
      text += "mixstack: " + words + "\n";
  }
  return text;
}

}  // namespace mixstack::formats
