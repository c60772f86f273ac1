// What the kernel says of the threads of a process, asked again and again.
#pragma once

#include <optional>
#include <vector>

#include "base/scoped_fd.h"
#include "target/live/proc_dir.h"

namespace mixstack::target {

/// Keeps the stat files of the threads that were asked about last open: to read one again costs a third of opening,
/// reading and closing it. An open one belongs to its thread for good; when that has ended and another one has its id,
/// the file is opened anew. One thread at a time.
class ThreadStats {
 public:
  explicit ThreadStats(const ProcDir& proc);

  /// Of `tids`, in their order; nothing for a thread that has gone. Files of others are closed.
  [[nodiscard]] std::vector<std::optional<ThreadStat>> read(const std::vector<ThreadId>& tids);

 private:
  struct Open {
    ThreadId tid = 0;
    base::ScopedFd fd;
  };
  [[nodiscard]] std::optional<ThreadStat> read(ThreadId tid, base::ScopedFd& fd) const;

  const ProcDir& proc_;
  std::size_t most_;  ///< files to hold open
  std::vector<Open> open_;
};

}  // namespace mixstack::target
