#include "process/peers/file_locks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/system/number.h"
#include "base/system/small_file.h"
#include "process/live/proc_files.h"

namespace mixstack::peers {
namespace {

constexpr std::size_t kMostTable = 1u << 20, kMostLocks = 1u << 14;
constexpr std::uint64_t kOpenFileWait = 38;  // F_OFD_SETLKW of include/uapi/linux/fcntl.h

/// "5: -> POSIX ADVISORY WRITE 812 fd:01:4711 0 EOF"; without the arrow it is held.
std::optional<FileLock> parse_line(std::string_view line) {
  std::array<std::string_view, 7> words;
  std::size_t count = 0;
  while (count < words.size()) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find(' '), line.size());
    words[count++] = line.substr(0, end);
    line.remove_prefix(end);
  }
  FileLock lock;
  lock.waits = count > 1 && words[1] == "->";
  const std::size_t at = lock.waits ? 2 : 1;  // of its kind
  if (count < at + 5 || !words[0].ends_with(':')) return std::nullopt;
  words[0].remove_suffix(1);
  const auto id = base::number<std::uint64_t>(words[0]);
  const auto pid = base::number<std::int64_t>(words[at + 3]);
  const std::string_view file = words[at + 4];
  const std::size_t colon = file.rfind(':');
  const auto inode =
      colon == std::string_view::npos ? std::nullopt : base::number<std::uint64_t>(file.substr(colon + 1));
  if (!id || !pid || !inode) return std::nullopt;
  lock.number = *id;
  lock.pid = *pid;
  lock.inode = *inode;
  return lock;
}

std::uint64_t inode_at(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_ino) : 0;
}

void name_holders(const ProcessDump& dump, const std::vector<std::int64_t>& holders, ThreadWait& wait) {
  std::string words;
  bool are_all_known = !holders.empty();
  for (const std::int64_t holder : holders) {
    const auto pid = static_cast<std::uint32_t>(std::max<std::int64_t>(holder, 0));
    words += words.empty() ? "" : ", ";
    if (pid == dump.target.pid) {
      words += "this process";
      are_all_known = false;
      continue;
    }
    const std::string name = pid == 0 ? std::string() : process::comm_of(pid);
    are_all_known = are_all_known && !name.empty();
    words += pid == 0       ? "a process that the kernel does not name"
             : name.empty() ? fmt::format("process {}, which has ended and left it to others", pid)
                            : fmt::format("process {} \"{}\"", pid, name);
    wait.processes.push_back({.pid = pid, .name = name, .holds = true});
  }
  if (!are_all_known) wait.processes.clear();
  wait.object.detail = "a lock of it, held by " + (words.empty() ? "whom the kernel does not tell" : words);
}

}  // namespace

std::vector<FileLock> parse_file_locks(std::string_view table) {
  std::vector<FileLock> locks;
  while (!table.empty() && locks.size() < kMostLocks) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    if (auto lock = parse_line(table.substr(0, end))) locks.push_back(*lock);
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return locks;
}

std::vector<FileLock> file_locks() { return parse_file_locks(base::text_at("/proc/locks", kMostTable)); }

bool waits_for_file_lock(std::int64_t syscall, std::uint64_t second_argument) {
  if (syscall == SYS_flock) return true;
  return syscall == SYS_fcntl && (second_argument == F_SETLKW || second_argument == kOpenFileWait);
}

std::vector<std::int64_t> lock_holders(const std::vector<FileLock>& locks, std::uint32_t waiter, std::uint64_t inode) {
  std::vector<std::int64_t> holders;
  for (const FileLock& waits : locks) {
    if (!waits.waits || waits.pid != waiter || (inode != 0 && waits.inode != inode)) continue;
    for (const FileLock& held : locks)
      if (!held.waits && held.number == waits.number &&
          std::find(holders.begin(), holders.end(), held.pid) == holders.end())
        holders.push_back(held.pid);
  }
  return holders;
}

void name_file_locks(ProcessDump& dump) {
  std::optional<std::vector<FileLock>> locks;
  for (ThreadDump& t : dump.threads) {
    if (!t.captured || !t.facts.arguments || !t.facts.fd) continue;
    if (!waits_for_file_lock(t.syscall, (*t.facts.arguments)[1])) continue;
    if (t.wait && t.wait->kind != WaitKind::file) continue;
    if (!locks) locks = file_locks();
    ThreadWait wait = t.wait.value_or(ThreadWait{});
    wait.kind = WaitKind::file;
    wait.proof = Proof::recorded;
    if (wait.object.type.empty()) wait.object.type = t.facts.object;
    const std::uint64_t inode = inode_at(fmt::format("/proc/{}/fd/{}", dump.target.pid, *t.facts.fd));
    name_holders(dump, lock_holders(*locks, dump.target.pid, inode), wait);
    t.wait = std::move(wait);
  }
}

}  // namespace mixstack::peers
