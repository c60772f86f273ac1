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

/// The code's stable identifier for programs, "unreadable_memory"; "unknown" for an undefined number. A static string.
[[nodiscard]] std::string_view to_string(ErrorCode);

/// The error in words: "memory that cannot be read (0x7f0012345678)", "not found: No such file or directory". The
/// caller adds the subject. Not translated.
[[nodiscard]] std::string describe(const Error&);

/// Why a walk ended: "end of the stack", "nothing describes how to continue from here".
[[nodiscard]] std::string_view describe(StopReason);

/// The contents of a report. `DumpOptions` decides what is recorded at all.
struct ReportOptions {
  bool managed_only = false;
  bool raw_names = false;  ///< metadata and linker names instead of readable ones
  bool registers = false;  ///< needs WalkOptions::keep_registers
  bool explain = false;    ///< needs WalkOptions::explain
  bool arguments = false;  ///< needs DumpOptions::arguments
  bool merge = false;      ///< threads with equal stacks once
  bool tree = false;       ///< text only: all stacks as one call tree, with the number of threads at each node
  /// Text only: the repeating part of a stack once; frames of one image without symbols, and the calls that run an
  /// async method, as one line.
  bool fold = true;
  bool all = false;       ///< text only: also the stacks of waiting threads of the runtime, not just their number
  bool color = false;     ///< text only: ANSI colours
  std::size_t width = 0;  ///< text only: columns for frames, names shortened to fit; 0: no limit
};

/// The name of one frame with its remarks, as in a report but without number and address: "Queue.Take(int) [catch]
/// (orders)", "libcoreclr.so+0x5fc43b {by prologue}". Never empty, one line, escaped for terminals.
[[nodiscard]] std::string frame_text(const Frame& frame, const SymbolInfo& symbol);
/// The same for frame `index` of a dumped thread; empty beyond its last frame.
[[nodiscard]] std::string frame_text(const ProcessDump& dump, const ThreadDump& thread, std::size_t index);

/// Receives a report in pieces, in order; a piece is valid during the call only.
using ReportSink = std::function<void(std::string_view)>;

/// Writes the text of `mixstack dump`. Data from the target is escaped.
void write_text(const ProcessDump& dump, const ReportSink& sink, const ReportOptions& options = {});

/// Writes the JSON of `mixstack dump --json`: one document, docs/formats/dump.schema.json. Always valid UTF-8.
void write_json(const ProcessDump& dump, const ReportSink& sink, const ReportOptions& options = {});

}  // namespace mixstack
