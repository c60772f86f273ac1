// The formats that a recording can be written as, and which one a file's name asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

enum class Format : std::uint8_t { folded, speedscope, pprof, firefox, chrome_trace, html, svg, text, recording };
inline constexpr Format kLastFormat = Format::recording;

/// What people type: "folded", "speedscope", "pprof", "firefox", "chrome", "html", "svg", "text", "raw".
[[nodiscard]] std::string_view word_of(Format);
[[nodiscard]] std::optional<Format> format_called(std::string_view word);
/// "folded, speedscope, ..."
[[nodiscard]] std::string all_format_words();
/// How names of such files usually end: ".speedscope.json".
[[nodiscard]] std::string_view extension_of(Format);
/// By how the name ends: .folded .collapsed, .speedscope.json, .pb.gz .pprof, .profile.json.gz, .trace.json, .html,
/// .svg, .txt, .mxr.
[[nodiscard]] std::optional<Format> format_of(std::string_view path);
/// Whether it may be written to a terminal.
[[nodiscard]] bool is_text(Format);

/// A raw recording is written whole, whatever the options say; the page holds what they ask for but all clocks, threads
/// that wait and directions: it has them to choose from.
void write_as(Format format, report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
