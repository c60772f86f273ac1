// Answers about memory, as text and JSON.
#pragma once

#include <span>
#include <string>

#include "mixstack/holders.h"
#include "mixstack/memory.h"
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
  std::span<const HeapHolders> holders{};
};

/// The label of a line, for people: "objects of generation 2".
[[nodiscard]] std::string label_words(const MemoryLine& line);
/// The cause of its growth, and what makes it smaller.
[[nodiscard]] std::string_view growth_words(MemoryKind kind);

void write_memory_text(Writer& out, const MemoryReport& report, const ReportOptions& options);
void write_memory_json(Writer& out, const MemoryReport& report);

// One heap's holders.
void write_holders_text(Writer& out, const HeapHolders& heap);
void write_holders_json(Writer& out, const HeapHolders& heap);

}  // namespace mixstack::report
