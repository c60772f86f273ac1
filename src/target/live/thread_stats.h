// What the kernel says of the threads of a process, asked again and again.
#pragma once

#include <optional>
#include <vector>

#include "base/scoped_fd.h"
#include "target/live/proc_dir.h"

namespace mixstack::target {

/// Keeps the stat files of the threads that were asked about last open: to read one again costs a third of opening,
/// reading and closing it. An open one belongs to its thread for good; when that has ended and another one has its id,
/// the file is opened anew. Of threads that waited at the last stop only the name is to be read, for a quarter of
/// that, and when the thread is seized, for that proves whose it is: whether it still waits is told by its registers.
/// So it is of all threads of a process that does nothing. One thread at a time.
class ThreadStats {
 public:
  explicit ThreadStats(const ProcDir& proc);

  /// So many threads will be asked about for the first time. The table of open files grows to what they need at once: a
  /// process with several threads waits for all processors whenever it grows, some ten milliseconds each time, so this
  /// is best called before there is a second one.
  void expect(std::size_t threads);
  /// Whether threads that nothing is known of are taken for waiting ones, until `expect_waiting` says which are.
  void suppose_waiting(bool are) { usually_ = are ? Told::name : Told::all; }
  /// Of `tids`, in their order; nothing for a thread that has gone. Files of others are closed.
  [[nodiscard]] std::vector<std::optional<ThreadStat>> read(const std::vector<ThreadId>& tids);
  /// Of those asked about last, in their order, of which nothing was read (state '?'): the file that tells the name as
  /// long as the thread is there; -1: of another one.
  [[nodiscard]] const std::vector<int>& name_files() const { return name_files_; }
  /// Of those read last, in their order: which waited in a system call when they were stopped.
  void expect_waiting(const std::vector<ThreadId>& tids);

 private:
  enum class Told : std::uint8_t { all, name };
  struct Open {
    ThreadId tid = 0;
    Told told = Told::all;  ///< by the file that is wanted
    base::ScopedFd fd;
    bool is_other = false;  ///< the file that is open is not that one
  };
  [[nodiscard]] std::optional<ThreadStat> read(Open& file) const;
  void keep(std::vector<Open> files, const std::vector<std::optional<ThreadStat>>& told);

  const ProcDir& proc_;
  std::size_t most_;  ///< files to hold open
  std::size_t expected_ = 0;
  Told usually_ = Told::all;
  std::vector<Open> open_;
  std::vector<int> name_files_;
};

}  // namespace mixstack::target
