// One frame of the text report.
#pragma once

#include "mixstack/dump.h"
#include "report/evidence_index.h"
#include "report/options.h"
#include "report/style.h"

namespace mixstack::report {

/// One stack being written: what all its frames share.
struct StackText {
  Painter& out;
  const ProcessDump& dump;
  const ThreadDump& thread;
  const ReportOptions& options;
  const EvidenceIndex& evidence;
  bool show_addresses = true;  ///< false where threads with different instruction pointers were merged
};

/// "#3   7f12ab34cd56 M Namespace.Type.Method(Int32)  (module)" and the lines that belong to it.
void write_frame(const StackText& stack, std::size_t index);

/// What of it stands behind the mark: name, remarks, place. No line end.
void write_called(Painter& out, const Frame& frame, const SymbolInfo& symbol, bool raw_name);

/// What was tried to find the caller of this frame, one line each.
void write_evidence(const StackText& stack, std::size_t index);

}  // namespace mixstack::report
