// The formats that a recording can be written as, and the choice of one by a file's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

enum class Format : std::uint8_t { folded, speedscope, pprof, firefox, chrome_trace, html, svg, text, recording };
inline constexpr Format kLastFormat = Format::recording;

/// The word on the command line: "folded", "speedscope", "pprof", "firefox", "chrome", "html", "svg", "text", "raw".
[[nodiscard]] std::string_view word_of(Format);
[[nodiscard]] std::optional<Format> format_called(std::string_view word);
/// "folded, speedscope, ..."
[[nodiscard]] std::string all_format_words();
/// The usual ending of file names: ".speedscope.json".
[[nodiscard]] std::string_view extension_of(Format);
/// By the ending of the name: .folded .collapsed, .speedscope.json, .pb.gz .pprof, .profile.json.gz, .trace.json,
/// .html, .svg, .txt, .mxr.
[[nodiscard]] std::optional<Format> format_of(std::string_view path);
/// Whether it may be written to a terminal.
[[nodiscard]] bool is_text(Format);

/// A raw recording is written whole, whatever the options say. The page holds the samples that they select, but with
/// waiting threads, other clocks and both directions, so that its user can choose (page.h).
void write_as(Format format, report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
