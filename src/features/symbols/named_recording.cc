#include "features/symbols/named_recording.h"

#include <utility>

#include "features/renaming/later_names.h"
#include "features/symbols/symbols_answer.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::symbol_answers {

NamedRecording with_names(Recording recording, SymbolOptions options) {
  const bool is_asked = !options.path.empty();
  if (is_asked) {
    options.lines = NativeLines::all;
  } else {
    options.time_for_all = std::chrono::milliseconds(0);
  }
  renaming::LaterNames names = renaming::name_later(std::move(recording), {std::move(options), is_asked});
  NamedRecording named{.recording = {}, .has_failed = !names.diagnoses.empty(), .said_nameless = is_asked};
  for (const Diagnosis& d : names.diagnoses)
    named.failures += "mixstack: " + report::escape_for_terminal(d.subject) + ": " +
                      (d.text.empty() ? report::error_words(d.error) : report::escape_for_terminal(d.text)) + "\n";
  if (is_asked) named.nameless = nameless_text(names);
  named.recording = std::move(names.recording);
  return named;
}

}  // namespace mixstack::symbol_answers
