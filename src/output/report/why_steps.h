// One thread of an answer of `mixstack why`: what it does, where, and what it awaits.
#pragma once

#include <string>

#include "mixstack/dump.h"
#include "output/report/style.h"

namespace mixstack::report {

inline constexpr std::size_t kMostSteps = 12;  ///< of one verdict that are shown

/// "waits for the monitor of Bank 0x7f12", "runs", "waits in the kernel: pipe".
[[nodiscard]] std::string step_words(const ProcessDump& dump, const ThreadDump& thread);
/// Where in the program, and the chains of async methods that it waits for: lines of their own.
void write_place(Painter& out, const ProcessDump& dump, const ThreadDump& thread);
/// All of it.
void write_step(Painter& out, const ProcessDump& dump, const ThreadDump& thread);

}  // namespace mixstack::report
