#include "output/report/crash_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "mixstack/subjects.h"
#include "output/report/escape.h"
#include "output/report/signal_words.h"
#include "output/report/words.h"

namespace mixstack::report {

void write_crash(Painter& out, const ProcessDump& dump) {
  if (!dump.target.crash) return;
  const CrashFacts& crash = *dump.target.crash;
  std::string line = crash.tid != 0 ? fmt::format("  Thread {} got {}", crash.tid, signal_name(crash.signal))
                                    : fmt::format("  The process got {}", signal_name(crash.signal));
  if (crash.address) line += fmt::format(" at 0x{:x}", *crash.address);
  if (crash.sender) line += fmt::format(" from process {}", *crash.sender);
  // "Sent", and by nobody, is what createdump notes of a signal whose origin it was not told.
  const bool origin_unknown = crash.code <= 0 && !crash.sender;
  const std::string_view cause = origin_unknown ? "" : signal_code_words(crash.signal, crash.code);
  if (!cause.empty()) line += fmt::format(": {}", cause);
  out.paint(Ink::warning, line + "\n");
}

void write_last_words(Painter& out, const ProcessDump& dump) {
  for (const Diagnosis& d : dump.diagnoses)
    if (d.subject == kLastWordsSubject) out.paint(Ink::warning, "  " + escape_for_terminal(d.text) + "\n");
}

void write_cut(Painter& out, const ProcessDump& dump) {
  for (const Diagnosis& d : dump.diagnoses)
    if (d.error.code == ErrorCode::truncated && d.subject != kRuntimeSubject && is_told_in_head(dump, d))
      out.paint(Ink::warning, "  " + escape_for_terminal(d.text) + "\n");
}

std::string text_about(const ProcessDump& dump, std::string_view subject) {
  const auto is_it = [subject](const Diagnosis& d) { return d.subject == subject; };
  const auto at = std::find_if(dump.diagnoses.begin(), dump.diagnoses.end(), is_it);
  return at == dump.diagnoses.end() ? std::string() : escape_for_terminal(at->text);
}

bool is_told_in_head(const ProcessDump& dump, const Diagnosis& d) {
  return d.subject == kRuntimeSubject || d.subject == kStageSubject || d.subject == kLastWordsSubject ||
         (d.error.code == ErrorCode::truncated && !dump.target.core_path.empty() && !d.text.empty());
}

void write_crash_registers(Painter& out, const ProcessDump& dump, const ThreadDump& thread) {
  if (!dump.target.crash || dump.target.crash->tid != thread.tid || !thread.captured) return;
  constexpr unsigned kInALine = 4;
  unsigned column = 0;
  std::string text;
  const Registers& registers = thread.fault_registers ? *thread.fault_registers : thread.registers;
  if (thread.fault_registers) text = "  at the fault, by its signal frame (the thread itself waits in the handler):\n";
  for (unsigned reg = 0; reg < Registers::kMax; reg++) {
    if (!registers.is_known(reg)) continue;
    const std::string_view separator = column == 0 ? "  " : column % kInALine == 0 ? "\n  " : "  ";
    text +=
        fmt::format("{}{:>3} {:016x}", separator, register_name(registers.arch(), reg), registers.value_or_zero(reg));
    column++;
  }
  if (column != 0) out.paint(Ink::faint, text + "\n");
}

}  // namespace mixstack::report
