// The answer of `mixstack why` where nothing is stuck, with the locks that threads wait for all the same.
#pragma once

#include <span>
#include <string>

#include "mixstack/contention.h"
#include "mixstack/dump.h"
#include "output/report/style.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// A thread whose lock is held by one that waits for what has no owner.
struct OpenEnd {
  ThreadId thread = 0;  ///< 0: there is none
  ThreadId behind = 0;
};
[[nodiscard]] OpenEnd find_open_end(const ProcessDump& dump);
/// "thread 12 "b" waits behind 11 "a", which waits for the semaphore ...; who ends that is not known": in words. Empty:
/// there is none.
[[nodiscard]] std::string open_end_words(const ProcessDump& dump);
/// The first sentence of an answer without verdicts.
[[nodiscard]] std::string nothing_words(const ProcessDump& dump, std::span<const Contention> contended);
/// One line per lock, with what its owners do below it.
void write_contended(Painter& out, const ProcessDump& dump, std::span<const Contention> contended);
void write_contended_json(Writer& out, std::span<const Contention> contended);

}  // namespace mixstack::report
