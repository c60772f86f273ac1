// The lines of a stack: most are one frame; frames that tell a reader nothing of their own share one.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstack/dump.h"
#include "output/report/options.h"

namespace mixstack::report {

/// The frames [first, last] of a trace, shown as one line.
struct StackRow {
  enum class Kind : std::uint8_t {
    frame,     ///< one frame
    nameless,  ///< native frames of one image without symbols
    async,     ///< an async method with what the runtime calls it by: `first` is the method
  };
  std::size_t first = 0, last = 0;
  Kind kind = Kind::frame;
  [[nodiscard]] std::size_t size() const { return last - first + 1; }
};

/// All shown frames of a stack, in order. With `fold` off, or where every frame is to be explained, each is a row.
[[nodiscard]] std::vector<StackRow> rows_of(const ProcessDump& dump, const ThreadDump& thread,
                                            const ReportOptions& options);

}  // namespace mixstack::report
