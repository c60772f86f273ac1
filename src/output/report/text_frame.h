// One frame of the text report.
#pragma once

#include "mixstack/dump.h"
#include "output/report/evidence_index.h"
#include "output/report/fit.h"
#include "output/report/options.h"
#include "output/report/stack_rows.h"
#include "output/report/style.h"
#include "output/report/thread_role.h"

namespace mixstack::report {

/// One stack being written: what all its frames share.
struct StackText {
  Painter& out;
  const ProcessDump& dump;
  const ThreadDump& thread;
  const ReportOptions& options;
  const EvidenceIndex& evidence;
  const UserCode& user;
  bool show_addresses = true;      ///< false where threads with different instruction pointers were merged
  std::size_t number_columns = 5;  ///< of "#3", "#22-27"
};

/// "#3", "#22-27".
[[nodiscard]] std::string row_number(const StackRow& row);
/// "#3   7f12ab34cd56 M Namespace.Type.Method(Int32)  (module)" and the lines that belong to it.
void write_row(const StackText& stack, const StackRow& row);

/// The async methods that await what the thread runs, each a line without a number.
void write_async_callers(const StackText& stack);

/// The part of a row behind the kind's letter: name, remarks, place. No line end.
struct CalledText {
  bool raw_name = false;
  bool is_user = false;   ///< code of the program, not of a framework
  std::size_t width = 0;  ///< columns there are; 0: as many as it takes
};
void write_called(Painter& out, const Frame& frame, const SymbolInfo& symbol, const CalledText& how);
/// A name with its source line.
[[nodiscard]] FrameWords words_of(const SymbolInfo& symbol, std::string name);
/// "  (Shop)  at /src/Shop/Cart.cs:42", the parts that are known.
void write_place(Painter& out, const FrameWords& words);

/// The ways tried to find the caller of this frame, one line each.
void write_evidence(const StackText& stack, std::size_t index);

}  // namespace mixstack::report
