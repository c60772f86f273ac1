// Waits in words.
#pragma once

#include <string>

#include "mixstack/dump.h"

namespace mixstack::report {

/// "waits for the monitor of Bank.Account 0x7f12a0001234, held by 4712 "transfer"": what a thread waits for and who
/// holds it. Empty: nothing is known.
[[nodiscard]] std::string wait_words(const ProcessDump& dump, const ThreadDump& thread);
/// Kinds of which the thread's system call says all there is: no core has them, and a report that has the call does not
/// repeat them.
[[nodiscard]] bool is_told_by_call(const ThreadWait& wait);
/// "4711 "transfer"": its id, and its name where it has one.
[[nodiscard]] std::string thread_words(const ProcessDump& dump, ThreadId tid);
/// The innermost frame of the program's own code, else of any managed code: "Bank.Transfer(...) in Bank.cs:42".
[[nodiscard]] std::string place_words(const ProcessDump& dump, const ThreadDump& thread);
/// The thread with this id, or null.
[[nodiscard]] const ThreadDump* find_thread(const ProcessDump& dump, ThreadId tid);

}  // namespace mixstack::report
