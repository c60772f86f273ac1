// The kernel's stat files of a process's threads, read again and again.
#pragma once

#include <optional>
#include <vector>

#include "base/system/scoped_fd.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Keeps the stat files of the threads that were asked about last open: to read one again costs a third of opening,
/// reading and closing it. An open file belongs to its thread for good; if that has ended and another one has its id,
/// the file is opened anew. For threads that waited at the last stop only the comm file is opened. Reading it after the
/// seize costs a quarter of that and proves whose it is; the registers tell whether the thread still waits. The same
/// holds for all threads of a process that does nothing. One thread at a time.
class ThreadStats {
 public:
  explicit ThreadStats(const ProcDir& proc);

  /// So many threads will be asked about for the first time. Grows our table of open files at once: a process with
  /// several threads waits for all processors whenever it grows, some ten milliseconds each time, so this is best
  /// called before there is a second thread.
  void expect(std::size_t threads);
  /// Whether unknown threads are taken for waiting ones, until `expect_waiting` says which are.
  void suppose_waiting(bool are) { usually_ = are ? Told::name : Told::all; }
  /// The stat of each of `tids`, in their order; nothing for a thread that has gone. Files of other threads are closed.
  [[nodiscard]] std::vector<std::optional<ThreadStat>> read(const std::vector<ThreadId>& tids);
  /// For those asked about last, in their order: the comm file, if nothing else was read (state '?'), which can be read
  /// as long as the thread is there; else -1.
  [[nodiscard]] const std::vector<int>& name_files() const { return name_files_; }
  /// Which of those read last, in their order, waited in a system call when they were stopped.
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

}  // namespace mixstack::process
