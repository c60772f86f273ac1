// Locks of files (flock, fcntl): who holds the one that a process waits for, as the kernel lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/dump.h"

namespace mixstack::peers {

/// One line of /proc/locks. Processes by the ids of our own pid namespace.
struct FileLock {
  std::uint64_t number = 0;  ///< a lock and its waiters have the same
  bool waits = false;
  std::int64_t pid = 0;  ///< the owner or waiter; not positive: the kernel does not tell (open file description locks)
  std::uint64_t inode = 0;
};
/// Lines that make no sense are left out.
[[nodiscard]] std::vector<FileLock> parse_file_locks(std::string_view table);
/// The table as it is now.
[[nodiscard]] std::vector<FileLock> file_locks();
/// Whether a system call waits for such a lock.
[[nodiscard]] bool waits_for_file_lock(std::int64_t syscall, std::uint64_t second_argument);
/// The processes that hold the lock that a process waits for; `inode` 0: of any file.
[[nodiscard]] std::vector<std::int64_t> lock_holders(const std::vector<FileLock>& locks, std::uint32_t waiter,
                                                     std::uint64_t inode);

/// Names the holders of such locks that threads of a process of this machine wait for.
void name_file_locks(ProcessDump& dump);

}  // namespace mixstack::peers
