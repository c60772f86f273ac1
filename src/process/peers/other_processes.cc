// Looks at the other processes that threads of the target wait for, through /proc and without a stop.
//
// Input: waits that name other processes (pipes, sockets, children, locks of files and in shared memory). Output: what
// each of these processes does (OtherProcess::doing), and whether it waits for the target (`waits_for_us`).
// Algorithm: read the process's state, and the system call that each of its threads is in. A call waits for the target
// if the target holds the lock, has the other end of the pipe or socket, or is the child that is waited for. The
// strongest such answer wins; where the thread that holds the lock is known, only that thread counts. A process that
// does not wait for the target may wait for a third one that does: such chains are followed (Chains). Each process (and
// thread) is looked at once, in the order of the target's threads. Bounds: kMostProcesses; kMostThreads of each; chains
// of kMostLinks processes, kMostFollowed and kMostSearches for all of them; kMostDescriptors of the target; files to
// kMostText or kMostMaps bytes.
#include "process/peers/other_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/number.h"
#include "base/system/small_file.h"
#include "process/live/proc_files.h"
#include "process/live/thread_facts.h"
#include "process/peers/file_locks.h"
#include "process/peers/inet_peer.h"
#include "process/peers/other_ends.h"
#include "process/peers/shared_locks.h"
#include "process/peers/unix_peer.h"

namespace mixstack::peers {
namespace {

using Back = OtherProcess::WaitsForUs;

constexpr std::size_t kMostProcesses = 8, kMostThreads = 64, kMostDescriptors = 4096;
constexpr std::size_t kMostText = 4096, kMostMaps = 4u << 20;
constexpr std::size_t kMostLinks = 3, kMostFollowed = 16;
constexpr std::size_t kMostSearches = 3;  // for the holders of an end, a tenth of a second each

bool reads(std::int64_t call) {
  return call == SYS_read || call == SYS_readv || call == SYS_recvfrom || call == SYS_recvmsg;
}
bool writes(std::int64_t call) {
  return call == SYS_write || call == SYS_writev || call == SYS_sendto || call == SYS_sendmsg;
}

/// A thread of another process.
struct Stranger {
  std::string folder;  ///< "/proc/12/task/13"
  std::uint32_t tid = 0;
  std::optional<process::BlockedCall> call;  ///< none: it runs, or we may not know
  bool is_hidden = false;
};

/// The children of all its threads; one too many where there are more than are looked at.
std::vector<std::uint32_t> children_of(std::uint32_t pid) {
  std::vector<std::uint32_t> children;
  process::each_number(fmt::format("/proc/{}/task", pid), kMostThreads, [&](std::uint32_t tid) {
    const std::string list = base::text_at(fmt::format("/proc/{}/task/{}/children", pid, tid), kMostText);
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find(' ', at), list.size());
      if (const auto child = base::number<std::uint32_t>(std::string_view(list).substr(at, end - at)))
        children.push_back(*child);
      at = end + 1;
    }
    return children.size() <= kMostProcesses;
  });
  return children;
}

/// A wait of one of its threads: one that this process has to end, or else a third one.
struct Answer {
  Back back = Back::no;
  std::string words{};
  // If it is not about us:
  std::string_view link{};            ///< the wait for another process, with {} for that
  std::vector<std::uint32_t> next{};  ///< those it waits for; several: each of them may end it
  std::int32_t end = -1;              ///< they are not looked for yet: holders of this descriptor's other end
  bool is_lock = false;               ///< they hold what it waits for, or do not read what it writes
};

class Ours {
 public:
  Ours(const ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory)
      : dump_(dump),
        regions_(regions),
        memory_(memory),
        folder_(fmt::format("/proc/{}", dump.target.pid)),
        pid_space_(base::link_at(folder_ + "/ns/pid")) {}

  /// The wait of a thread of a process, as far as it is about us.
  [[nodiscard]] Answer about(std::uint32_t pid, const Stranger& thread) {
    if (!thread.call) return {};
    const std::int64_t call = thread.call->number;
    const auto& arguments = thread.call->arguments;
    if (call == SYS_wait4 || call == SYS_waitid) return child(pid, call, arguments);
    if (waits_for_file_lock(call, arguments[1])) return file_lock(pid);
    if (call == SYS_futex) return shared_lock(pid, arguments[0]);
    if (reads(call) || writes(call)) return other_end(pid, static_cast<std::int32_t>(arguments[0]), writes(call));
    return {};
  }

 private:
  using Arguments = std::array<std::uint64_t, 6>;

  [[nodiscard]] Answer child(std::uint32_t pid, std::int64_t call, const Arguments& arguments) const {
    // The ids in the call are of the caller's pid namespace.
    if (pid_space_.empty() || base::link_at(fmt::format("/proc/{}/ns/pid", pid)) != pid_space_) return {};
    constexpr std::uint64_t kOne = 1;  // P_PID of waitid
    const bool is_waitid = call == SYS_waitid;
    const auto wanted = static_cast<std::int32_t>(is_waitid && arguments[0] != kOne ? ~std::uint64_t{0}
                                                  : is_waitid                       ? arguments[1]
                                                                                    : arguments[0]);
    if (wanted == static_cast<std::int32_t>(dump_.target.pid)) return {Back::may, "waits for the end of this process"};
    if (wanted > 0)
      return {Back::no,
              fmt::format("waits for the end of process {} \"{}\"", wanted,
                          process::comm_of(static_cast<std::uint32_t>(wanted))),
              "waits for the end of {}",
              {static_cast<std::uint32_t>(wanted)}};
    return {Back::no, "waits for the end of a child of its own", "waits for the end of {}", children_of(pid)};
  }

  [[nodiscard]] Answer file_lock(std::uint32_t pid) {
    if (!locks_) locks_ = file_locks();
    const auto holders = lock_holders(*locks_, pid, 0);
    if (holders.size() == 1 && holders[0] == dump_.target.pid)
      return {Back::is_held_up, "waits for a lock of a file that this process holds"};
    Answer other{.words = "waits for a lock of a file", .link = "waits for a lock of a file that {} holds"};
    other.is_lock = true;
    // The kernel names no process for a lock of an open file description.
    if (holders.size() == 1 && holders[0] > 0) other.next = {static_cast<std::uint32_t>(holders[0])};
    return other;
  }

  /// Looks up the futex word that it waits at in the target's mapping of the same file.
  [[nodiscard]] Answer shared_lock(std::uint32_t pid, Address word) const {
    const std::string maps = base::text_at(fmt::format("/proc/{}/maps", pid), kMostMaps);
    for (std::size_t at = 0; at < maps.size();) {
      const std::size_t end = std::min(maps.find('\n', at), maps.size());
      if (const auto place = place_in(std::string_view(maps).substr(at, end - at), word)) return mutex_at(*place);
      at = end + 1;
    }
    return {};
  }

  struct Place {
    std::uint64_t inode = 0, offset = 0;
    std::string device;
  };

  /// "7f12a0000000-7f12a0001000 rw-s 00000000 fd:01 4711    /path", if the word is in it and it is shared.
  [[nodiscard]] static std::optional<Place> place_in(std::string_view line, Address word) {
    const std::size_t dash = line.find('-'), blank = line.find(' ');
    if (dash == std::string_view::npos || blank == std::string_view::npos || blank < dash) return std::nullopt;
    const auto begin = base::number<std::uint64_t>(line.substr(0, dash), 16);
    const auto end = base::number<std::uint64_t>(line.substr(dash + 1, blank - dash - 1), 16);
    if (!begin || !end || word < *begin || word >= *end) return std::nullopt;
    line.remove_prefix(blank + 1);
    if (line.size() < 5 || line[3] != 's') return std::nullopt;
    line.remove_prefix(5);
    const std::size_t device = line.find(' '), inode = line.find(' ', device + 1);
    if (device == std::string_view::npos || inode == std::string_view::npos) return std::nullopt;
    const auto offset = base::number<std::uint64_t>(line.substr(0, device), 16);
    const std::string_view after = line.substr(inode + 1);
    const auto node = base::number<std::uint64_t>(after.substr(0, std::min(after.find(' '), after.size())));
    if (!offset || !node || *node == 0) return std::nullopt;
    return Place{*node, *offset + (word - *begin), std::string(line.substr(device + 1, inode - device - 1))};
  }

  [[nodiscard]] Answer mutex_at(const Place& place) const {
    for (const Region& r : regions_) {
      if (!r.shared || r.inode != place.inode || place.offset < r.file_offset ||
          place.offset - r.file_offset >= r.range.end - r.range.begin ||
          fmt::format("{:02x}:{:02x}", r.device_major, r.device_minor) != place.device)
        continue;
      const auto mutex = shared_mutex_at(memory_, r.range.begin + (place.offset - r.file_offset));
      if (!mutex) return {};
      for (const ThreadDump& t : dump_.threads)
        if (t.ns_tid == mutex->owner)
          return {Back::is_held_up,
                  fmt::format("waits for a mutex in shared memory that thread {} of this process holds", t.tid)};
      return {};
    }
    return {};
  }

  [[nodiscard]] Answer other_end(std::uint32_t pid, std::int32_t fd, bool is_writing) {
    const std::string process = fmt::format("/proc/{}", pid);
    const std::string link = base::link_at(fmt::format("{}/fd/{}", process, fd));
    std::string other;
    if (link.starts_with("pipe:[")) {
      other = link;
    } else if (const auto inode = process::inode_of(link, "socket:[");
               inode && base::link_at(process + "/ns/net") == base::link_at(folder_ + "/ns/net")) {
      if (const auto peer = peer_of(*inode)) other = fmt::format("socket:[{}]", *peer);
    }
    if (other.empty()) return {};
    if (!holds(other, link == other ? (is_writing ? O_RDONLY : O_WRONLY) : -1))
      return {.link = is_writing ? "waits until {} reads what it writes" : "waits to read what {} writes",
              .end = fd,
              .is_lock = is_writing};
    if (is_writing) return {Back::is_held_up, "waits until this process reads what it writes"};
    return {Back::may, "waits to read what this process writes"};
  }

  /// The other end of a socket of the target's network namespace.
  [[nodiscard]] std::optional<std::uint64_t> peer_of(std::uint64_t inode) {
    const std::string* name = sockets_.name(inode);
    if (name == nullptr) return std::nullopt;
    if (name->starts_with("tcp ")) return inet_peer(sockets_, std::string(*name));
    const bool is_ours = base::link_at(folder_ + "/ns/net") == base::link_at("/proc/self/ns/net");
    return is_ours && inode <= UINT32_MAX ? unix_peer(static_cast<std::uint32_t>(inode)) : std::nullopt;
  }

  /// Whether the target has such a descriptor; of a pipe, one opened in that mode or in both.
  [[nodiscard]] bool holds(const std::string& link, int mode) {
    if (descriptors_.empty())
      process::each_number(folder_ + "/fd", kMostDescriptors, [&](std::uint32_t number) {
        const std::string fd = std::to_string(number);
        descriptors_.emplace(base::link_at(folder_ + "/fd/" + fd), fd);
        return true;
      });
    const auto [begin, end] = descriptors_.equal_range(link);
    return std::any_of(begin, end, [&](const auto& d) {
      if (mode == -1) return true;
      const auto opened = process::mode_of(folder_, d.second);
      return opened && (*opened == mode || *opened == O_RDWR);
    });
  }

  const ProcessDump& dump_;
  const std::vector<Region>& regions_;
  const MemoryReader& memory_;
  std::string folder_, pid_space_;
  std::optional<std::vector<FileLock>> locks_;
  std::multimap<std::string, std::string> descriptors_;  ///< the target's, by their links
  process::SocketTables sockets_{
      [folder = folder_](const std::string& file) { return base::text_at(folder + "/" + file, kMostMaps); }};
};

/// The letter behind the name in /proc/PID/stat; '?': the process has gone.
char state_of(const std::string& folder) {
  const std::string stat = base::text_at(folder + "/stat", kMostText);
  const std::size_t close = stat.rfind(')');
  return close == std::string::npos || close + 2 >= stat.size() ? '?' : stat[close + 2];
}

std::uint64_t cpu_of(const std::string& folder) {
  const std::string text = base::text_at(folder + "/schedstat", kMostText);
  return base::number<std::uint64_t>(std::string_view(text).substr(0, std::min(text.find(' '), text.size())))
      .value_or(0);
}

std::vector<Stranger> threads_of(std::uint32_t pid) {
  std::vector<Stranger> threads;
  const std::string tasks = fmt::format("/proc/{}/task/", pid);
  process::each_number(tasks, kMostThreads, [&](std::uint32_t tid) {
    Stranger& thread = threads.emplace_back();
    thread.folder = tasks + std::to_string(tid);
    thread.tid = tid;
    const std::string text = base::text_at(thread.folder + "/syscall", kMostText);
    thread.is_hidden = text.empty();
    if (!text.starts_with("running")) thread.call = process::parse_blocked_call(text);
    return true;
  });
  return threads;
}

/// Follows waits of processes for one another until one of them waits for us.
class Chains {
 public:
  explicit Chains(Ours& ours) : ours_(ours) {}

  struct Chain {
    std::string words;
    bool has_lock = false;  ///< one of its links is a lock, or what a process does not read
    std::uint64_t cpu = 0;  ///< that its threads have run
  };
  /// The chain that begins with a wait of a thread of `pid` for a third process.
  [[nodiscard]] std::optional<Chain> from(std::uint32_t pid, const Answer& answer) {
    if (answer.link.empty() || path_.size() >= kMostLinks || followed_ >= kMostFollowed) return std::nullopt;
    const auto next = next_of(pid, answer);
    path_.push_back(pid);
    const bool is_new = next != 0 && std::find(path_.begin(), path_.end(), next) == path_.end();
    auto rest = is_new ? through(next) : std::nullopt;
    path_.pop_back();
    if (!rest) return std::nullopt;
    std::string words(answer.link);
    words.replace(words.find("{}"), 2, fmt::format("process {} \"{}\"", next, process::comm_of(next)));
    return Chain{words + ", which " + rest->words, answer.is_lock || rest->has_lock, rest->cpu};
  }

 private:
  /// The only process that the wait is for; 0: not known, or several.
  [[nodiscard]] std::uint32_t next_of(std::uint32_t pid, const Answer& answer) {
    if (answer.end < 0) return answer.next.size() == 1 ? answer.next[0] : 0;
    if (searches_ >= kMostSearches) return 0;
    searches_++;
    const auto holders = holders_of_other_end(pid, answer.end);
    return holders.size() == 1 ? holders[0].pid : 0;
  }
  /// Follows what a process waits for, as far as that leads to us; with a lock rather than without.
  [[nodiscard]] std::optional<Chain> through(std::uint32_t pid) {
    followed_++;
    std::optional<Chain> found;
    for (const Stranger& thread : threads_of(pid)) {
      const Answer answer = ours_.about(pid, thread);
      auto chain =
          answer.back != Back::no ? Chain{answer.words, answer.back == Back::is_held_up, 0} : from(pid, answer);
      if (!chain || (found && (found->has_lock || !chain->has_lock))) continue;
      chain->cpu += cpu_of(thread.folder);
      found = std::move(chain);
    }
    return found;
  }

  Ours& ours_;
  std::vector<std::uint32_t> path_;
  std::size_t followed_ = 0, searches_ = 0;
};

/// For a process that waits for us through others: what the first such thread waits for.
const Stranger* follow(OtherProcess& other, const std::vector<Stranger>& threads, Ours& ours, Chains& chains,
                       std::uint64_t& cpu) {
  const Stranger* about = nullptr;
  for (const Stranger& t : threads) {
    if (other.thread != 0 && t.tid != other.thread) continue;
    auto chain = chains.from(other.pid, ours.about(other.pid, t));
    const Back back = !chain ? Back::no : chain->has_lock ? Back::is_held_up : Back::may;
    if (back <= other.waits_for_us) continue;
    about = &t;
    other.waits_for_us = back;
    other.doing = std::move(chain->words);
    cpu = chain->cpu;
  }
  return about;
}

void look_at(OtherProcess& other, Ours& ours, Chains& chains) {
  const char state = state_of(fmt::format("/proc/{}", other.pid));
  if (state == '?' || state == 'X') {
    other.doing = "has ended";
    return;
  }
  if (state == 'Z') {
    other.doing = "has ended, and nobody has asked for its result";
    return;
  }
  other.is_stopped = state == 'T';
  const std::vector<Stranger> threads = threads_of(other.pid);
  const bool is_hidden =
      threads.empty() || std::all_of(threads.begin(), threads.end(), [](const Stranger& t) { return t.is_hidden; });
  // If the thread that holds the lock is known, only that thread counts.
  const auto counts = [&](const Stranger& t) { return other.thread == 0 || t.tid == other.thread; };
  const Stranger* about = nullptr;
  for (const Stranger& t : threads) {
    if (!counts(t)) continue;
    const Answer answer = ours.about(other.pid, t);
    if (answer.words.empty() || (about != nullptr && answer.back <= other.waits_for_us)) continue;
    about = &t;
    other.waits_for_us = answer.back;
    other.doing = answer.words;
  }
  std::uint64_t cpu_of_others = 0;
  if (other.waits_for_us == Back::no)
    if (const Stranger* first = follow(other, threads, ours, chains, cpu_of_others)) about = first;
  const auto only = std::find_if(threads.begin(), threads.end(), counts);
  if (about == nullptr && only != threads.end() && (other.thread != 0 || threads.size() == 1)) about = &*only;
  if (about != nullptr) other.cpu = cpu_of(about->folder) + cpu_of_others;
  if (other.is_stopped) {
    other.doing = "is stopped by a signal";
  } else if (state == 't') {
    other.doing = "is stopped by a debugger";
  } else if (is_hidden) {
    other.doing = "may not be looked at by this user";
  } else if (other.doing.empty() && about != nullptr) {
    other.doing = about->call ? "" : "runs";
    other.syscall = about->call ? about->call->number : -1;
  }
}

/// For a wait for any child: all children, if they are few.
void add_children(const ProcessDump& dump, ThreadWait& wait) {
  const auto children = children_of(dump.target.pid);
  if (children.size() != 1) return;
  std::string name = process::comm_of(children[0]);
  wait.object.type = std::to_string(children[0]);
  if (wait.object.detail.empty()) wait.object.detail = name;
  wait.processes = {{.pid = children[0], .name = std::move(name)}};
}

}  // namespace

void look_at_other_processes(ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, OtherProcess> seen;
  std::optional<Ours> ours;
  std::optional<Chains> chains;
  for (ThreadDump& t : dump.threads) {
    if (!t.wait) continue;
    if (t.wait->kind == WaitKind::child_process && t.wait->object.type.empty()) add_children(dump, *t.wait);
    const bool writes_out = t.wait->kind == WaitKind::pipe || t.wait->kind == WaitKind::socket;
    for (OtherProcess& other : t.wait->processes) {
      if (writes_out && writes(t.syscall)) other.holds = true;
      const auto at = seen.find({other.pid, other.thread});
      if (at == seen.end() && seen.size() == kMostProcesses) continue;
      if (!ours) chains.emplace(ours.emplace(dump, regions, memory));
      OtherProcess& looked = seen.try_emplace({other.pid, other.thread}, other).first->second;
      if (at == seen.end()) look_at(looked, *ours, *chains);
      const bool holds = other.holds;
      other = looked;
      other.holds = holds;
    }
  }
}

}  // namespace mixstack::peers
