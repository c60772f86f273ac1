// Where the memory of a process is, and of what types the objects of its managed heaps are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mixstack/holders.h"
#include "mixstack/memory.h"
#include "mixstack/memory_moment.h"
#include "mixstack/report.h"
#include "mixstack/result.h"
#include "mixstack/session.h"

namespace mixstack {

struct MemoryOptions {
  bool types = false;  ///< also count objects by type; a process is stopped for it
  HeapTypesOptions heap{};
  bool holders = false;  ///< also find who holds the objects; a process is stopped for it once
  HoldersOptions of_holders{};
};

struct MemoryAnswer {
  std::uint32_t pid = 0;
  std::string name;       ///< the kernel's short name; empty: not known
  std::string core_path;  ///< empty: a process
  /// Nothing: a core, which does not say what was resident.
  std::optional<MemoryAccount> account{};
  /// With `types`: one for each runtime; empty: the process has none.
  std::vector<HeapTypes> heaps{};
  MomentMark mark{};
  /// With `holders`: the same.
  std::vector<HeapHolders> holders{};

  /// Every heap was counted, and searched for holders, at one moment.
  [[nodiscard]] bool is_whole() const;
};

/// Asks a process or a core. The account stops nothing. A process without a runtime has an account without managed
/// lines. Errors: those of reading /proc (no_such_process, permission_denied); unsupported: without `types` and
/// `holders` a core.
[[nodiscard]] Result<MemoryAnswer> ask_memory(Session& session, const MemoryOptions& options = {});

/// As `mixstack memory` prints it.
void write_text(const MemoryAnswer& answer, const ReportSink& sink, const ReportOptions& options = {});
/// One JSON document (docs/formats/memory.schema.json).
void write_json(const MemoryAnswer& answer, const ReportSink& sink);
/// One page that a browser shows, without a network.
void write_html(const MemoryAnswer& answer, const ReportSink& sink);

}  // namespace mixstack
