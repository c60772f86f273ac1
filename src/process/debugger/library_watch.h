// Which libraries come and go in a debugged process.
#pragma once

#include <vector>

#include "process/debugger/program.h"

namespace mixstack::process {

/// Without a trap in the target, nothing reports that a library came or went. So the list is compared whenever a thread
/// has stopped anyway.
class LibraryWatch {
 public:
  struct Changes {
    std::vector<LoadedLibrary> loaded, unloaded;
  };
  /// The changes since the last look; empty at the first, and while the linker is at work on the list.
  [[nodiscard]] Changes look(Program& program);
  /// Sets the known list, without reporting it as a change.
  void begin(std::vector<LoadedLibrary> libraries);
  /// As the last look found it. Errors: `process_changed` while the linker is at work, if nothing was known before.
  [[nodiscard]] Result<std::vector<LoadedLibrary>> list(Program& program) const;

 private:
  std::vector<LoadedLibrary> libraries_;
  bool known_ = false;
};

}  // namespace mixstack::process
