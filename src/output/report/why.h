// The answer of `mixstack why`: as text, as JSON (docs/formats/why.schema.json), and as a graph for Graphviz.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mixstack/busy.h"
#include "mixstack/contention.h"
#include "mixstack/dump.h"
#include "mixstack/slowness.h"
#include "mixstack/unmoved.h"
#include "mixstack/verdict.h"
#include "output/report/options.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// Optional parts of an answer, besides the dump and its verdicts. Borrowed; null: nothing.
struct WhyExtras {
  const Busyness* busy = nullptr;
  const Unmoved* unmoved = nullptr;
  std::span<const Contention> contended{};  ///< where there is no verdict
  std::span<const SlowCause> causes{};      ///< of slowness, dearest first
  const Health* health = nullptr;           ///< by counters
  std::span<const std::string> changes{};   ///< with --watch: what changed in its numbers
  bool is_whole = false;                    ///< all threads were seen, and what each of them waits for is known
};

/// Verdicts first, then the waits and pending work that were read.
void write_why_text(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts,
                    const ReportOptions& options, const WhyExtras& extras = {});
void write_why_json(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts,
                    const WhyExtras& extras = {});
/// One wait, as both schemas have it.
void write_wait_json(Writer& out, const ThreadWait& wait);
/// Threads that wait or are waited for, and what lies between them.
void write_why_dot(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts);

/// Whether the waits of the process's threads are known: if not, the absence of verdicts proves nothing.
[[nodiscard]] bool knows_waits(const ProcessDump& dump);
/// Threads that did not stop with the others, as happens on a busy machine: their waits are not known.
/// (Threads that wait in the kernel for a device cannot be stopped at all.)
[[nodiscard]] std::size_t threads_apart(const ProcessDump& dump);
/// Threads that wait in native code of the program below managed code, for something unknown.
[[nodiscard]] std::size_t waits_not_known(const ProcessDump& dump);
/// "DEADLOCK: 2 threads wait for each other in a cycle".
[[nodiscard]] std::string verdict_words(const ProcessDump& dump, const Verdict& verdict);
/// "deadlock": stable, for programs.
[[nodiscard]] std::string_view verdict_name(VerdictKind kind);

}  // namespace mixstack::report
