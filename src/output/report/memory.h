// Answers about memory, as text and JSON.
#pragma once

#include <span>
#include <string>

#include "mixstack/holders.h"
#include "mixstack/memory.h"
#include "mixstack/memory_moment.h"
#include "mixstack/report.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// Borrows everything.
struct MemoryReport {
  std::uint32_t pid = 0;
  const std::string& name;
  const std::string& core_path;
  const MemoryAccount* account = nullptr;  ///< null: a core
  std::span<const HeapTypes> heaps;
  const MomentMark* mark = nullptr;  ///< null: not told
  std::span<const HeapHolders> holders{};
};

/// The label of a line, for people: "objects of generation 2".
[[nodiscard]] std::string label_words(const MemoryLine& line);
/// The cause of its growth, and what makes it smaller, in few words.
[[nodiscard]] std::string_view growth_words(MemoryKind kind);
/// The same apart, in full; empty: nothing is to be said.
[[nodiscard]] std::string_view grows_by(MemoryKind kind);
[[nodiscard]] std::string_view shrinks_by(MemoryKind kind);

/// When, where and of what, as JSON.
void write_mark_json(Writer& out, const MomentMark& mark);

void write_memory_text(Writer& out, const MemoryReport& report, const ReportOptions& options);
void write_memory_json(Writer& out, const MemoryReport& report);

// One heap's holders.
void write_holders_text(Writer& out, const HeapHolders& heap);
void write_holders_json(Writer& out, const HeapHolders& heap);
/// A line's name, as the text has it: ".Changed: System.EventHandler of 5000 delegates calls Shop.View.OnChanged".
[[nodiscard]] std::string holder_words(const Holder& holder);

}  // namespace mixstack::report
