// Which system calls threads wait in, by many looks at /proc that stop nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Purposes of system calls in which a thread waits for a disk.
enum class DiskCall : std::uint8_t {
  none,
  sync,      ///< fsync, fdatasync, msync and their kin: until all is on the disk
  truncate,  ///< and fallocate
  read,      ///< of a file: its pages are not in memory
  write,     ///< of a file: no room for dirty pages, or another thread writes it
  page_in,   ///< no call: it touched memory that is in a file or swapped out
};
/// By the number of a call of this machine's kernel. Reads and writes wait for a disk if the file is a regular one.
[[nodiscard]] DiskCall disk_call_of(std::int64_t number);

/// Threads found waiting in one kind of call for one file.
struct WaitedCall {
  DiskCall call = DiskCall::none;
  std::int64_t number = -1;
  std::string file{};      ///< its path; empty: not known
  std::uint64_t seen = 0;  ///< threads, all looks together
  friend bool operator==(const WaitedCall&, const WaitedCall&) = default;
};
/// A thread found waiting in calls of a disk.
struct DiskThread {
  ThreadId tid = 0;
  std::uint64_t seen = 0;  ///< looks that found it there
  friend bool operator==(const DiskThread&, const DiskThread&) = default;
};

struct CallTally {
  std::uint64_t looks = 0;
  std::vector<WaitedCall> calls{};    ///< of a disk, most seen first, at most 64
  std::vector<DiskThread> threads{};  ///< most seen first, at most 4096
};

/// Looks at the threads of one process. Not thread-safe.
class CallLooks {
 public:
  explicit CallLooks(const ProcDir& proc) : proc_(proc) {}
  /// Some 5 us a thread; at most 4096 threads. False: the process has gone, or we may not see its calls.
  [[nodiscard]] bool look();
  [[nodiscard]] CallTally tally() const;

 private:
  struct Waiting {
    DiskCall call = DiskCall::none;
    std::int64_t number = -1;
    std::string file;
  };
  [[nodiscard]] Waiting waiting_in(ThreadId tid, std::string_view syscall);
  /// The path of a descriptor, and whether it is a regular file. Looked up once a look: descriptors are used again.
  struct File {
    bool is_regular = false;
    std::string path;
  };
  [[nodiscard]] const File& file_of(std::uint64_t fd);

  static constexpr std::size_t kMostCalls = 64, kMostThreads = 4096;

  const ProcDir& proc_;
  std::uint64_t looks_ = 0;
  std::map<std::pair<std::int64_t, std::string>, WaitedCall> calls_;  ///< by number and file
  std::map<ThreadId, std::uint64_t> threads_;
  std::map<std::uint64_t, File> files_;  ///< of this look
};

}  // namespace mixstack::process
