// /proc/PID, held open so that a reused pid is never taken for the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/proc_status.h"
#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// The fields of /proc/PID/task/TID/stat that we use.
struct ThreadStat {
  std::string comm;
  char state = '?';
  int cpu = -1;  ///< where it ran last
  bool is_kernel_thread = false;
  bool is_io_worker = false;    ///< of io_uring: a task of the kernel in a process
  bool is_user_worker = false;  ///< another such task, since Linux 6.4; before, this bit meant something else
};
/// Pages that a process has mapped, in all and privately writable (the first and the sixth number of /proc/PID/statm):
/// mapping, unmapping and most changes of a mapping's rights change them.
struct MappedSizes {
  std::uint64_t all = 0, data = 0;
  friend bool operator==(const MappedSizes&, const MappedSizes&) = default;
};

/// Parses a stat line; the name may hold anything, parentheses and newlines included.
[[nodiscard]] std::optional<ThreadStat> parse_thread_stat(std::string_view line);
using base::status_field;
/// The last number of a status field (the innermost namespace of NSpid), or nothing.
[[nodiscard]] std::optional<std::uint32_t> last_number(std::string_view text);

/// The open directory of one process. After the process has gone every access fails with `no_such_process`, even if
/// its number is in use again. Thread-safe except `tasks`.
class ProcDir {
 public:
  /// `pid` may be the id of any thread; the process is the one it belongs to. If /proc belongs to another pid
  /// namespace, its numbers are not those that ptrace takes: an error, see base/system/proc_mount.h.
  [[nodiscard]] static Result<ProcDir> open(std::uint32_t pid);

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  /// A thread that still has the address space: the main thread unless it has ended before the others.
  [[nodiscard]] std::uint32_t memory_tid() const { return memory_tid_; }

  /// Reads a small file whole. `name` is relative to /proc/PID. At most `limit` bytes, else `limit_exceeded`.
  [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t limit = 1 << 20) const;
  /// A file of a thread that the kernel makes as one piece (schedstat, syscall, wchan): one read gives all of it. Cut
  /// at 512 bytes.
  [[nodiscard]] Result<std::string> read_of_task(ThreadId tid, const char* name) const;
  /// The same as read(), relative to the directory of `memory_tid` (maps, auxv, cmdline and exe need an address space).
  [[nodiscard]] Result<std::string> read_memory_file(const std::string& name, std::size_t limit = 1 << 20) const;
  [[nodiscard]] Result<std::string> read_link(const std::string& name) const;
  /// Opens a file. Errors: no_such_process, permission_denied, not_found, io_error.
  [[nodiscard]] Result<base::ScopedFd> open_file(const std::string& name, int flags) const;
  [[nodiscard]] Result<base::ScopedFd> open_memory_file(const std::string& name, int flags) const;

  [[nodiscard]] int task_fd() const { return tasks_.get(); }
  /// The tids at this moment, in the kernel's order.
  [[nodiscard]] Result<std::vector<ThreadId>> tasks() const;
  /// `Threads:` of the status file, from the link count of the task directory, which Linux makes from the same
  /// number (proc_task_getattr in fs/proc/base.c) and which costs one system call. 0: unknown.
  [[nodiscard]] std::size_t task_count() const;
  /// Zeros when they cannot be read.
  [[nodiscard]] MappedSizes mapped_sizes() const;
  [[nodiscard]] bool has_task(ThreadId tid) const;
  [[nodiscard]] std::optional<ThreadStat> thread_stat(ThreadId tid) const;
  /// words::kIoWorker or kKernelTask: a task that the kernel made in the process for itself, without user mode. 0:
  /// none.
  [[nodiscard]] std::uint64_t kernel_task(ThreadId tid, const ThreadStat& stat) const;
  /// Opens the thread's stat file, or the one that tells its name alone; none if the thread has gone.
  [[nodiscard]] base::ScopedFd open_thread_stat(ThreadId tid) const;
  [[nodiscard]] base::ScopedFd open_thread_name(ThreadId tid) const;
  /// The system call a thread is blocked in, -1 if it runs or the kernel does not tell.
  [[nodiscard]] std::int64_t thread_syscall(ThreadId tid) const;
  /// The stack pointer of a thread that waits in the kernel, 0 if it runs or the kernel does not tell.
  [[nodiscard]] Address thread_stack_pointer(ThreadId tid) const;
  /// The id of a thread in its innermost pid namespace, or `tid`.
  [[nodiscard]] ThreadId namespace_tid(ThreadId tid) const;
  /// Whether the process lives in another pid namespace than ours, so that `namespace_tid` differs.
  [[nodiscard]] bool in_other_pid_namespace() const { return other_namespace_; }

 private:
  ProcDir() = default;
  [[nodiscard]] Error failure(int error) const;
  void find_memory_tid();

  std::uint32_t pid_ = 0;
  std::uint32_t memory_tid_ = 0;
  bool other_namespace_ = false;
  std::string memory_prefix_;
  base::ScopedFd dir_;
  base::ScopedFd tasks_;
};

}  // namespace mixstack::process
