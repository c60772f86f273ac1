// The program a debugged process runs: what changes with exec.
#pragma once

#include <cstdint>
#include <memory>

#include "mixstack/result.h"
#include "process/debugger/link_map_list.h"
#include "process/live/process_view.h"

namespace mixstack::process {

/// Made at attach, launch, fork and exec; shared by the handle and by targets. `links` belongs to the tracer. Fields of
/// `info` that cannot be read (a program we have no right to) are empty.
struct Program : ProcessView {
  Address interpreter = 0;  ///< AT_BASE; 0: a static program
  LinkMapList links;

  using ProcessView::ProcessView;
  /// Errors: those of ProcDir::open.
  [[nodiscard]] static Result<std::shared_ptr<Program>> open(std::uint32_t pid);
};

}  // namespace mixstack::process
