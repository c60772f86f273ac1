// Words for people: errors, single frames and whole dumps as text, and a dump as JSON. Pure functions of data; any
// number of threads may call them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "mixstack/dump.h"
#include "mixstack/result.h"

namespace mixstack {

/// The code's own word, "unreadable_memory": stable, for programs. "unknown" for a number that is none.
[[nodiscard]] std::string_view to_string(ErrorCode);

/// What happened: "memory that cannot be read (0x7f0012345678)", "not found: No such file or directory". Without the
/// name of what it happened to, which the caller knows. Not translated.
[[nodiscard]] std::string describe(const Error&);

/// Why a walk ended: "end of the stack", "nothing describes how to continue from here".
[[nodiscard]] std::string_view describe(StopReason);

/// What a report shows. What was recorded at all is decided by `DumpOptions`.
struct ReportOptions {
  bool managed_only = false;
  bool raw_names = false;  ///< metadata and linker names instead of readable ones
  bool registers = false;  ///< needs WalkOptions::keep_registers
  bool explain = false;    ///< needs WalkOptions::explain
  bool arguments = false;  ///< needs DumpOptions::arguments
  bool merge = false;      ///< threads with equal stacks once
  bool tree = false;       ///< text only: all stacks as one tree of calls, with the number of threads at each
  /// Text only: the repeating part of a stack once, frames of one image without symbols and the calls that run an async
  /// method as one line.
  bool fold = true;
  bool all = false;       ///< text only: stacks of the runtime's own threads that wait, too, not their number alone
  bool color = false;     ///< text only: ANSI colours
  std::size_t width = 0;  ///< text only: columns that frames may take, their names shortened; 0: as many as they need
};

/// What one frame is called, with its remarks, as a line of a report without number and address:
/// "Queue.Take(int) [catch]  (orders)", "libcoreclr.so+0x5fc43b {by prologue}", never empty. One line, escaped for
/// terminals.
[[nodiscard]] std::string frame_text(const Frame& frame, const SymbolInfo& symbol);
/// The same for frame number `index` of a thread of a dump; empty beyond its last.
[[nodiscard]] std::string frame_text(const ProcessDump& dump, const ThreadDump& thread, std::size_t index);

/// Takes a report piece by piece, in order; pieces are valid during the call.
using ReportSink = std::function<void(std::string_view)>;

/// What `mixstack dump` prints. Nothing that came from the target reaches the output unescaped.
void write_text(const ProcessDump& dump, const ReportSink& sink, const ReportOptions& options = {});

/// What `mixstack dump --json` prints: one document, docs/formats/dump.schema.json. Always valid UTF-8.
void write_json(const ProcessDump& dump, const ReportSink& sink, const ReportOptions& options = {});

}  // namespace mixstack
