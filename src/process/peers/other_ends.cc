// Finds the processes that hold the other end of the pipes and sockets that threads wait at.
//
// Input: descriptors that threads and async chains wait at. Output: words in WaitedObject::detail, the processes in
// ThreadWait::processes, the members of epoll sets.
// Algorithm: first find the link of each other end as /proc/PID/fd shows it: the same pipe, the peer of a unix socket
// (sock_diag), the TCP socket with both addresses exchanged. Then read the descriptors of all processes once, for all
// ends together, because the pass costs a readlink for each descriptor on the machine. A descriptor of the same pipe
// in the same mode as ours is no other end; both ends of one pipe may be searched for. OtherEnds does this in another
// thread while the dump goes on. Bounds: kMostTime, looked at before each process and kLookEvery descriptors;
// kMostProcesses, kMostDescriptors, kMostWanted ends; kMostHolders named for each; kMostTable bytes of a file;
// kMostInSet members named.
#include "process/peers/other_ends.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/number.h"
#include "base/system/small_file.h"
#include "process/live/proc_files.h"
#include "process/live/thread_facts.h"
#include "process/peers/inet_peer.h"
#include "process/peers/unix_peer.h"

namespace mixstack::peers {
namespace {

constexpr std::chrono::milliseconds kMostTime{100};
constexpr std::size_t kMostProcesses = 1u << 16, kMostDescriptors = 1u << 20, kMostWanted = 256;
constexpr std::size_t kLookEvery = 256;       // descriptors, at the clock
constexpr std::size_t kMostHolders = 3;       // of one end that are named
constexpr std::size_t kMostTable = 4u << 20;  // bytes of a file of /proc
constexpr std::size_t kMostInSet = 4;         // of an epoll set that are named

struct Holder {
  std::uint32_t pid = 0;
  std::string name;
};

/// An end that is searched for: a link, and the mode of our end of a pipe, which the other end does not have; -1: a
/// socket.
using End = std::pair<std::string, int>;

struct Holders {
  std::vector<Holder> named;
  std::size_t more = 0;  ///< or of whom it is not known whether they hold it
};

class Search {
 public:
  explicit Search(std::uint32_t pid) : process_(fmt::format("/proc/{}", pid)) {}

  /// The other end of a descriptor, by its link in its owner's /proc/PID/fd; an empty link: not known.
  End want(std::int32_t fd, const std::string& object) {
    const std::string link = base::link_at(fmt::format("{}/fd/{}", process_, fd));
    std::string other;
    int not_mode = -1;
    if (link.starts_with("pipe:[")) {
      const auto mode = process::mode_of(process_, std::to_string(fd));
      if (!mode) return {};
      other = link;
      not_mode = *mode;
    } else if (const auto inode = process::inode_of(link, "socket:[")) {
      const auto peer = object.starts_with("unix ") ? unix_end(*inode) : inet_end(object);
      if (peer) other = fmt::format("socket:[{}]", *peer);
    }
    if (other.empty() || wanted_.size() >= kMostWanted) return {};
    End end(std::move(other), not_mode);
    wanted_.try_emplace(end);
    return end;
  }

  void run() {
    if (wanted_.empty()) return;
    deadline_ = std::chrono::steady_clock::now() + kMostTime;
    process::each_number("/proc", kMostProcesses, [&](std::uint32_t pid) {
      if (is_late() || descriptors_ >= kMostDescriptors) return false;
      look_at(pid);
      return true;
    });
  }

  /// The other processes that hold an end. Empty if one of them is our own, or there are more than are named.
  [[nodiscard]] std::vector<OtherProcess> processes(const End& end, std::uint32_t own) const {
    const auto at = wanted_.find(end);
    std::vector<OtherProcess> others;
    if (at == wanted_.end() || at->second.more != 0) return others;
    for (const Holder& holder : at->second.named) {
      if (holder.pid == own) return {};  // the wait may be for a thread of the same process
      others.push_back({.pid = holder.pid, .name = holder.name});
    }
    return others;
  }

  [[nodiscard]] std::string words(const End& end, std::uint32_t own) const {
    const auto at = wanted_.find(end);
    if (at == wanted_.end() || at->second.named.empty()) return {};
    std::string text = "the other end is held by ";
    for (std::size_t i = 0; i < at->second.named.size(); i++) {
      const Holder& holder = at->second.named[i];
      text += i == 0 ? "" : ", ";
      text += holder.pid == own ? "this process" : fmt::format("{} \"{}\"", holder.pid, holder.name);
    }
    if (at->second.more != 0) text += fmt::format(" and {} more", at->second.more);
    return text;
  }

  /// The members of an epoll set: "5 pipe, 7 tcp listening on [::]:80".
  std::string members_of(std::int32_t set) {
    const std::string text = base::text_at(fmt::format("{}/fdinfo/{}", process_, set), kMostTable);
    std::string words;
    std::size_t count = 0;
    for (std::size_t at = text.find("tfd:"); at != std::string::npos; at = text.find("tfd:", at + 1)) {
      if (count++ >= kMostInSet) continue;
      const std::size_t begin = text.find_first_of("0123456789", at);
      if (begin == std::string::npos) break;
      const std::string fd = text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
      words += (words.empty() ? "" : ", ") + fd + " " + name_of(fd);
    }
    if (count > kMostInSet) words += fmt::format(" and {} more", count - kMostInSet);
    return words;
  }

  /// "tcp A -> B" or "pipe"; the kind alone if the kernel has no table of such files.
  std::string name_of(const std::string& fd) {
    const std::string link = base::link_at(fmt::format("{}/fd/{}", process_, fd));
    if (const auto inode = process::inode_of(link, "socket:[")) {
      const std::string* name = sockets_.name(*inode);
      return name == nullptr ? "socket" : *name;
    }
    if (link.starts_with("pipe:[")) return "pipe";
    constexpr std::string_view kKernels = "anon_inode:[";
    if (!link.starts_with(kKernels) || !link.ends_with(']')) return link;
    return link.substr(kKernels.size(), link.size() - kKernels.size() - 1);
  }

 private:
  std::optional<std::uint64_t> inet_end(const std::string& object) { return inet_peer(sockets_, object); }

  [[nodiscard]] std::optional<std::uint64_t> unix_end(std::uint64_t inode) const {
    const bool is_ours = base::link_at(process_ + "/ns/net") == base::link_at("/proc/self/ns/net");
    if (!is_ours || inode > UINT32_MAX) return std::nullopt;
    return unix_peer(static_cast<std::uint32_t>(inode));
  }

  void look_at(std::uint32_t pid) {
    const std::string process = fmt::format("/proc/{}", pid);
    const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir((process + "/fd").c_str()), ::closedir);
    while (const dirent* entry = all ? ::readdir(all.get()) : nullptr) {
      if (entry->d_name[0] == '.') continue;
      if (++descriptors_ >= kMostDescriptors) return;
      if (descriptors_ % kLookEvery == 0 && is_late()) return;
      std::array<char, 64> link{};
      const ssize_t size = ::readlinkat(::dirfd(all.get()), entry->d_name, link.data(), link.size());
      if (size < 0 && errno == EACCES) return;  // no descriptor of this process can be read then
      if (size <= 0) continue;
      const std::string path(link.data(), static_cast<std::size_t>(size));
      for (auto at = wanted_.lower_bound({path, -1}); at != wanted_.end() && at->first.first == path; ++at) {
        const int not_mode = at->first.second;
        const auto mode = not_mode == -1 ? std::nullopt : process::mode_of(process, entry->d_name);
        if (not_mode != -1 && !mode) at->second.more++;
        if (not_mode == -1 || (mode && *mode != not_mode)) add(at->second, pid);
      }
    }
  }

  [[nodiscard]] bool is_late() const { return std::chrono::steady_clock::now() > deadline_; }

  static void add(Holders& holders, std::uint32_t pid) {
    const auto is_it = [pid](const Holder& h) { return h.pid == pid; };
    if (std::any_of(holders.named.begin(), holders.named.end(), is_it)) return;
    if (holders.named.size() >= kMostHolders) {
      holders.more++;
      return;
    }
    holders.named.push_back({pid, process::comm_of(pid)});
  }

  std::string process_;
  std::map<End, Holders> wanted_;
  std::chrono::steady_clock::time_point deadline_;
  // By value: a search moves to the thread that makes it.
  process::SocketTables sockets_{
      [process = process_](const std::string& file) { return base::text_at(process + "/" + file, kMostTable); }};
  std::size_t descriptors_ = 0;
};

/// The runtime's own thread that reads signals from a pipe within the process (System.Native, pal_signal.c): every .NET
/// process has one, and a search for its other end would be in vain. Threads of the program may have its name, but they
/// have managed frames.
bool reads_signals(const ThreadDump& thread) {
  const auto& frames = thread.trace.frames;
  return thread.comm == ".NET SigHandler" &&
         std::none_of(frames.begin(), frames.end(), [](const Frame& f) { return f.kind == FrameKind::managed; });
}

/// The object that is waited at, by descriptor.
using Candidates = std::map<std::int32_t, std::string>;

struct Found {
  explicit Found(std::uint32_t pid) : search(pid) {}
  Search search;
  std::map<std::int32_t, End> ends;
};

}  // namespace

struct OtherEnds::State {
  std::future<Found> found;
};

OtherEnds::OtherEnds(const ProcessDump& dump, base::Beside& beside) : state_(std::make_unique<State>()) {
  Candidates candidates;
  for (const ThreadDump& t : dump.threads)
    if (t.facts.fd && !reads_signals(t)) candidates.try_emplace(*t.facts.fd, t.facts.object);
  state_->found = beside.run([candidates = std::move(candidates), found = Found(dump.target.pid)]() mutable {
    for (const auto& [fd, object] : candidates)
      if (End end = found.search.want(fd, object); !end.first.empty()) found.ends.emplace(fd, std::move(end));
    found.search.run();
    return std::move(found);
  });
}

OtherEnds::~OtherEnds() = default;

void OtherEnds::tell(ProcessDump& dump) {
  if (!state_->found.valid()) return;
  Found found = state_->found.get();
  for (ThreadDump& t : dump.threads) {
    if (!t.wait || !t.facts.fd || !t.wait->object.detail.empty() || reads_signals(t)) continue;
    if (t.wait->kind == WaitKind::pipe || t.wait->kind == WaitKind::socket) {
      if (const auto end = found.ends.find(*t.facts.fd); end != found.ends.end()) {
        t.wait->object.detail = found.search.words(end->second, dump.target.pid);
        t.wait->processes = found.search.processes(end->second, dump.target.pid);
      }
    } else if (t.wait->kind == WaitKind::poll && t.facts.object.starts_with("epoll")) {
      t.wait->object.detail = found.search.members_of(*t.facts.fd);
    }
  }
}

namespace {

/// The pid is valid in our namespace if the target's threads have the same ids in both.
void name_child(const ProcessDump& dump, ThreadWait& wait) {
  const auto is_ours = [](const ThreadDump& t) { return t.ns_tid == t.tid; };
  const auto pid = base::number<std::uint32_t>(wait.object.type);
  if (!pid || !std::all_of(dump.threads.begin(), dump.threads.end(), is_ours)) return;
  std::string name = process::comm_of(*pid);
  wait.processes = {{.pid = *pid, .name = name}};
  if (!name.empty()) wait.object.detail = std::move(name);
}

}  // namespace

std::vector<OtherProcess> holders_of_other_end(std::uint32_t pid, std::int32_t fd) {
  Search search(pid);
  const End end = search.want(fd, search.name_of(std::to_string(fd)));
  if (end.first.empty()) return {};
  search.run();
  return search.processes(end, pid);
}

void name_waited_objects(ProcessDump& dump) {
  std::optional<Search> search;
  std::vector<std::pair<ThreadWait*, End>> ends;
  for (ThreadDump& t : dump.threads) {
    if (t.wait && t.wait->kind == WaitKind::child_process) name_child(dump, *t.wait);
    if (!t.wait || t.wait->kind != WaitKind::socket || t.wait->descriptor < 0) continue;
    if (!search) search.emplace(dump.target.pid);
    const std::string object = search->name_of(std::to_string(t.wait->descriptor));
    if (!object.starts_with("tcp ") && !object.starts_with("udp ") && !object.starts_with("unix ")) continue;
    t.wait->object.type = object;
    ends.emplace_back(&*t.wait, search->want(t.wait->descriptor, object));
  }
  std::vector<std::pair<AsyncChain*, End>> awaited;
  for (RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (AsyncChain& chain : runtime.pending->chains) {
      // Some of .NET's sockets are pipes: the kernel says what the file is.
      if (chain.end != AsyncEnd::socket || chain.descriptor < 0 || !chain.awaited.detail.empty()) continue;
      if (!search) search.emplace(dump.target.pid);
      const std::string object = search->name_of(std::to_string(chain.descriptor));
      if (object == "pipe") {
        chain.end = AsyncEnd::source;
        chain.awaited.type = object;
      } else {
        chain.awaited.detail = object;
      }
      if (End end = search->want(chain.descriptor, object); !end.first.empty())
        awaited.emplace_back(&chain, std::move(end));
    }
  }
  if (search) search->run();
  for (auto& [wait, end] : ends) {
    if (end.first.empty()) continue;
    wait->object.detail = search->words(end, dump.target.pid);
    wait->processes = search->processes(end, dump.target.pid);
  }
  for (auto& [chain, end] : awaited)
    if (const std::string words = search->words(end, dump.target.pid); !words.empty())
      chain->awaited.detail += (chain->awaited.detail.empty() ? "" : ", ") + words;
}

}  // namespace mixstack::peers
