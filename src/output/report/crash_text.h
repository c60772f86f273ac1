// What the text report says of a crash: the signal, and the registers of the thread that got it.
#pragma once

#include "mixstack/dump.h"
#include "output/report/style.h"

namespace mixstack::report {

/// One line; nothing when the dump is of a running process or of a core of one.
void write_crash(Painter& out, const ProcessDump& dump);
/// What was left in memory for the moment of the end: a line for each.
void write_last_words(Painter& out, const ProcessDump& dump);
/// That a core lacks a part of what its headers promise: before all else, since nothing after it is whole. Nothing: it
/// does not.
void write_cut(Painter& out, const ProcessDump& dump);
/// What a diagnosis of that subject says, fit for a terminal; empty: there is none (mixstack/subjects.h).
[[nodiscard]] std::string text_about(const ProcessDump& dump, std::string_view subject);
/// It is told there, and not once more with the other diagnoses.
[[nodiscard]] bool is_told_in_head(const ProcessDump& dump, const Diagnosis& diagnosis);
/// All known registers, four in a line, if this is the thread that crashed.
void write_crash_registers(Painter& out, const ProcessDump& dump, const ThreadDump& thread);

}  // namespace mixstack::report
