// A crash in the text report: the signal, and the registers of the thread that got it.
#pragma once

#include "mixstack/dump.h"
#include "output/report/style.h"

namespace mixstack::report {

/// One line; nothing when the dump is of a running process or of a core of one.
void write_crash(Painter& out, const ProcessDump& dump);
/// Messages that the program left in memory before it ended (kLastWordsSubject), one line each.
void write_last_words(Painter& out, const ProcessDump& dump);
/// Warns of a core that is shorter than its headers promise: first, since everything after it is incomplete. Writes
/// nothing for a whole one.
void write_cut(Painter& out, const ProcessDump& dump);
/// Text of the first diagnosis with this subject, escaped for a terminal; empty: there is none (mixstack/subjects.h).
[[nodiscard]] std::string text_about(const ProcessDump& dump, std::string_view subject);
/// Whether the head of the report has it, so that it is not repeated with the other diagnoses.
[[nodiscard]] bool is_told_in_head(const ProcessDump& dump, const Diagnosis& diagnosis);
/// All known registers, four in a line, if this is the thread that crashed.
void write_crash_registers(Painter& out, const ProcessDump& dump, const ThreadDump& thread);

}  // namespace mixstack::report
