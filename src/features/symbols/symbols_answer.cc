#include "features/symbols/symbols_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::symbol_answers {
namespace {

using report::escape_for_terminal;

constexpr std::size_t kMostLines = 20;

std::string why_nameless(const ModuleSymbols& module) {
  if (!module.remark.empty()) return escape_for_terminal(module.remark);
  if (module.id.empty()) return "it has no build id by which its file could be found";
  if (module.is_missing()) return "no file with symbols of build id " + module.id + " was found";
  return "its file has no names for them";
}

}  // namespace

bool SymbolsAnswer::is_missing_any() const {
  return std::any_of(modules.begin(), modules.end(),
                     [](const ModuleSymbols& m) { return m.is_missing() && m.nameless != 0; });
}

SymbolsAnswer symbols_of(Session& session, const ProcessDump& dump, bool all) {
  return {report::symbols_subject(dump), session.symbol_files(dump, all)};
}

SymbolsAnswer symbols_of(Recording recording, const std::string& path, const SymbolOptions& options) {
  auto names = renaming::name_later(std::move(recording), {options, true});
  SymbolsAnswer answer;
  answer.modules = std::move(names.modules);
  answer.subject.recording = path;
  answer.subject.diagnoses = std::move(names.diagnoses);
  const auto& processes = names.recording.processes();
  if (processes.size() == 1) {
    answer.subject.pid = processes.front().pid;
    answer.subject.program = processes.front().comm;
    answer.subject.runtimes = {processes.front().runtime};
  }
  return answer;
}

std::string diagnoses_text(const SymbolsAnswer& answer) {
  std::string text;
  for (const Diagnosis& d : answer.subject.diagnoses)
    text += fmt::format("  {}: {}\n", escape_for_terminal(d.subject),
                        d.text.empty() ? report::error_words(d.error) : escape_for_terminal(d.text));
  return text.empty() ? text : "\n" + text;
}

std::string nameless_text(const renaming::LaterNames& names) {
  std::string text;
  std::size_t lines = 0, more = 0;
  for (const ModuleSymbols& module : names.modules) {
    if (module.nameless == 0) continue;
    if (++lines > kMostLines)
      more++;
    else
      text += fmt::format("mixstack: {}: {} of {} {} no name: {}\n", escape_for_terminal(module.module),
                          module.nameless, report::counted(module.frames, "place"),
                          module.nameless == 1 ? "has" : "have", why_nameless(module));
  }
  if (more != 0) text += fmt::format("mixstack: and places of {} further modules\n", more);
  return text;
}

}  // namespace mixstack::symbol_answers
