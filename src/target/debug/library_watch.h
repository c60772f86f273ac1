// Which libraries come and go in a debugged process.
#pragma once

#include <vector>

#include "target/debug/program.h"

namespace mixstack::target {

/// Nothing tells when a library comes or goes without a trap in the target. So the list is compared whenever a thread
/// has stopped anyway.
class LibraryWatch {
 public:
  struct Changes {
    std::vector<LoadedLibrary> loaded, unloaded;
  };
  /// What has changed since the last look; nothing at the first, and while the linker is at work on the list.
  [[nodiscard]] Changes look(Program& program);
  /// What is there from now on, without news of it.
  void begin(std::vector<LoadedLibrary> libraries);
  /// As the last look found it. Errors: `process_changed` while the linker is at work, if nothing was known before.
  [[nodiscard]] Result<std::vector<LoadedLibrary>> list(Program& program) const;

 private:
  std::vector<LoadedLibrary> libraries_;
  bool known_ = false;
};

}  // namespace mixstack::target
