// The program a debugged process runs: what changes with exec.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "target/debug/link_map_list.h"
#include "target/live/guest_memory.h"
#include "target/live/proc_dir.h"

namespace mixstack::target {

/// Made at attach, launch, fork and exec; shared by the handle and by targets. `proc`, `info`, `auxv` and `memory`
/// never change; `links` belongs to the tracer.
struct Program {
  ProcDir proc;
  TargetInfo info;
  std::string auxv;
  Address interpreter = 0;  ///< AT_BASE; 0: a static program
  GuestMemory memory;
  LinkMapList links;

  /// Errors: those of ProcDir::open. What of `info` cannot be read (a program we have no right to) is left empty.
  [[nodiscard]] static Result<std::shared_ptr<Program>> open(std::uint32_t pid);

  Program(ProcDir directory, base::ScopedFd mem);
  [[nodiscard]] Result<std::vector<Region>> regions() const;
};

}  // namespace mixstack::target
