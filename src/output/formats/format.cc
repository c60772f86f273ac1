#include "output/formats/format.h"

#include <utility>

#include "base/words/recording_selection.h"
#include "output/formats/call_tree_text.h"
#include "output/formats/chrome_trace.h"
#include "output/formats/firefox.h"
#include "output/formats/folded.h"
#include "output/formats/page.h"
#include "output/formats/pprof.h"
#include "output/formats/recording_file.h"
#include "output/formats/speedscope.h"
#include "output/report/flame_html.h"
#include "output/report/flame_svg.h"

namespace mixstack::formats {
namespace {

constexpr std::string_view kWords[] = {"folded", "speedscope", "pprof", "firefox", "chrome",
                                       "html",   "svg",        "text",  "raw"};
static_assert(std::size(kWords) == static_cast<std::size_t>(kLastFormat) + 1);

// The usual ending of each format comes first.
constexpr std::pair<Format, std::string_view> kEndings[] = {{Format::folded, ".folded"},
                                                            {Format::folded, ".collapsed"},
                                                            {Format::speedscope, ".speedscope.json"},
                                                            {Format::pprof, ".pb.gz"},
                                                            {Format::pprof, ".pprof"},
                                                            {Format::firefox, ".profile.json.gz"},
                                                            {Format::chrome_trace, ".trace.json"},
                                                            {Format::html, ".html"},
                                                            {Format::svg, ".svg"},
                                                            {Format::text, ".txt"},
                                                            {Format::recording, ".mxr"}};

void write_page(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  const Page page = page_of(recording, options);
  report::FlameOptions flame;
  flame.look = page.look;
  report::write_flame_html(out, page.recording, nullptr, flame);
}

void write_picture(report::Writer& out, const Recording& recording, ProfileOptions options) {
  options.clock = shown_clock(recording, options);
  report::FlameOptions flame;
  flame.clock = options.clock;
  flame.icicle = options.inverted;
  report::write_flame_svg(out, selection_of(recording, options), flame);
}

}  // namespace

std::string_view word_of(Format format) { return kWords[static_cast<std::size_t>(format)]; }

std::optional<Format> format_called(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kWords); i++)
    if (kWords[i] == word) return static_cast<Format>(i);
  return std::nullopt;
}

std::string all_format_words() {
  std::string text;
  for (const std::string_view word : kWords) (text += text.empty() ? "" : ", ") += word;
  return text;
}

std::string_view extension_of(Format format) {
  for (const auto& [kind, ending] : kEndings)
    if (kind == format) return ending;
  return {};
}

std::optional<Format> format_of(std::string_view path) {
  for (const auto& [format, ending] : kEndings)
    if (path.size() > ending.size() && path.ends_with(ending)) return format;
  return std::nullopt;
}

bool is_text(Format format) {
  return format != Format::pprof && format != Format::firefox && format != Format::recording;
}

void write_as(Format format, report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  switch (format) {
    case Format::folded:
      write_folded(out, recording, options);
      return;
    case Format::speedscope:
      write_speedscope(out, recording, options);
      return;
    case Format::pprof:
      write_pprof(out, recording, options);
      return;
    case Format::firefox:
      write_firefox(out, recording, options);
      return;
    case Format::chrome_trace:
      write_chrome_trace(out, recording, options);
      return;
    case Format::text:
      write_text_tree(out, recording, options);
      return;
    case Format::recording:
      write_recording(out, recording);
      return;
    case Format::html:
      write_page(out, recording, options);
      return;
    case Format::svg:
      write_picture(out, recording, options);
      return;
  }
}

}  // namespace mixstack::formats
