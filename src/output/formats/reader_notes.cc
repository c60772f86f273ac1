#include "output/formats/reader_notes.h"

#include <fmt/format.h>

#include "output/formats/folded_reader.h"
#include "output/report/escape.h"
#include "output/report/nameless_code.h"

namespace mixstack::formats {
namespace {

constexpr std::string_view kCut = "the file is cut";

std::string shown_path(const std::string& path) {
  return path == "-" ? "standard input" : report::escape_for_terminal(path);
}

}  // namespace

std::string cut_text(const Recording& recording, const std::string& path) {
  std::string text;
  for (const std::string& note : recording.facts.notes)
    if (note.starts_with(kCut)) text += fmt::format("mixstack: {}: {}\n", shown_path(path), note);
  return text;
}

std::string changed_text(const Recording& recording, const std::string& path) {
  std::string text;
  for (const std::string& note : recording.facts.notes)
    if (note.starts_with(kCountsDivided) || note.starts_with(kCutInTheMiddle))
      text += fmt::format("mixstack: {}: {}\n", shown_path(path), report::escape_for_terminal(note));
  return text;
}

std::string nameless_text(const Recording& recording, const std::string& path) {
  const std::string file = path == "-" ? "FILE.mxr" : report::escape_for_terminal(path);
  const std::string words = report::nameless_words(recording, file);
  return words.empty() ? words : "mixstack: " + words + "\n";
}

}  // namespace mixstack::formats
