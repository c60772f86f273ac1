// What the text report says of a crash: the signal, and the registers of the thread that got it.
#pragma once

#include "mixstack/dump.h"
#include "report/style.h"

namespace mixstack::report {

/// One line; nothing when the dump is of a running process or of a core of one.
void write_crash(Painter& out, const ProcessDump& dump);
/// All known registers, four in a line, if this is the thread that crashed.
void write_crash_registers(Painter& out, const ProcessDump& dump, const ThreadDump& thread);

}  // namespace mixstack::report
