// A user's ProcessState as a Target.
#pragma once

#include <memory>
#include <optional>

#include "mixstack/target.h"
#include "stackwalker/procstate.h"

namespace mixstack::stackwalker {

/// Threads by the names that a user's ProcessState gives them, which may be more than 32 bits long (a pthread_t).
class ThreadNumbers {
 public:
  virtual ~ThreadNumbers() = default;
  /// The same for the same name. Nothing beyond 65,536 long names, and for negative ones.
  [[nodiscard]] virtual std::optional<ThreadId> number_of(Dyninst::THR_ID name) const = 0;
  [[nodiscard]] virtual Dyninst::THR_ID name_of(ThreadId number) const = 0;
};

/// Memory by readMem, registers by getRegValue, threads by getThreadIds. Mappings come from /proc when the state names
/// a process that is there, else from the program headers of its LibraryState's files. Borrows the state. Whatever the
/// state throws counts as failure. The target is a ThreadNumbers, too. Errors: `unsupported_cpu`.
[[nodiscard]] Result<std::unique_ptr<Target>> open_state_target(Dyninst::Stackwalker::ProcessState& state);

}  // namespace mixstack::stackwalker
