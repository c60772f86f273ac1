// The answer of `mixstack memory` as one page: the account as bars, types as a table, two moments as a difference.
#pragma once

#include <span>

#include "output/report/memory.h"
#include "output/report/memory_growth.h"

namespace mixstack::report {

/// One moment, or two and what grew.
struct MemoryPage {
  std::span<const MemoryReport> moments;
  const MemoryGrowth* growth = nullptr;
};

void write_memory_html(Writer& out, const MemoryPage& page);
/// The page's data. Its `tree` is of the holders of the last moment: `{"name","bytes","count","children":[...]}`; null
/// where they were not asked for.
[[nodiscard]] std::string memory_page_data(const MemoryPage& page);

}  // namespace mixstack::report
