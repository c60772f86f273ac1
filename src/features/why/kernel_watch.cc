// Watches a process by the kernel's files, and the programs that it starts by perf events.
// Input: a process. Output: KernelEvidence of the time between begin and end.
// Algorithm: a thread of its own reads what has two ends (quotas, times of all processes, sizes of open files, bytes
// that connections have sent) at its begin and at its end. Between them it looks at the calls of all threads every
// kPause, and at memory every kMoment. When a child of the process has ended, it begins to watch the programs that are
// started. Bounds: between two looks it rests twenty times as long as the look took; kMostMoments, kMostFiles.
#include <fcntl.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "features/why/counter_change.h"
#include "features/why/kernel_causes.h"
#include "process/live/kernel_counters.h"
#include "process/live/process_info.h"
#include "process/live/process_usage.h"

namespace mixstack::why {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPause{10}, kMoment{100};
constexpr int kRest = 20;
constexpr std::size_t kMostMoments = 256, kMostFiles = 1024;

/// The kind and state of a file at one moment.
struct FileState {
  std::string descriptor;
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec changed{};
};

/// The regular files that a process has open.
std::vector<FileState> files_of(const process::ProcDir& proc) {
  std::vector<FileState> files;
  std::error_code error;
  std::size_t seen = 0;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(proc.pid()) + "/fd", error);
  for (const std::filesystem::directory_iterator end; !error && at != end && seen < kMostFiles; at.increment(error)) {
    seen++;
    FileState file;
    file.descriptor = "fd/" + at->path().filename().string();
    const auto opened = proc.open_file(file.descriptor, O_PATH);
    struct stat st {};
    if (!opened || ::fstat(opened->get(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    file.device = st.st_dev;
    file.inode = st.st_ino;
    file.size = st.st_size;
    file.changed = st.st_mtim;
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<ChangedFile> changed_between(const process::ProcDir& proc, const std::vector<FileState>& before,
                                         const std::vector<FileState>& after) {
  std::vector<ChangedFile> changed;
  for (const FileState& now : after) {
    const auto is_it = [&now](const FileState& f) { return f.device == now.device && f.inode == now.inode; };
    const auto was = std::find_if(before.begin(), before.end(), is_it);
    const bool same_time =
        was != before.end() && was->changed.tv_sec == now.changed.tv_sec && was->changed.tv_nsec == now.changed.tv_nsec;
    if (same_time && was->size == now.size) continue;
    const off_t start = was == before.end() ? 0 : was->size;
    const auto path = proc.read_link(now.descriptor);
    // Nobody writes to memory by a call: the runtime has its code in such a file, and changes it where it is mapped.
    if (!path || path->starts_with("/memfd:")) continue;
    const auto is_known = [&](const ChangedFile& f) { return f.path == *path; };
    if (std::any_of(changed.begin(), changed.end(), is_known)) continue;
    changed.push_back({*path, now.size > start ? static_cast<std::uint64_t>(now.size - start) : 0});
  }
  return changed;
}

/// The gains of each connection that was there at both moments.
std::vector<process::SocketCounters> sent_between(const std::vector<process::SocketCounters>& before,
                                                  const std::vector<process::SocketCounters>& after) {
  std::map<std::uint64_t, const process::SocketCounters*> known;
  for (const process::SocketCounters& s : before) known[s.inode] = &s;
  std::vector<process::SocketCounters> sent;
  for (const process::SocketCounters& now : after) {
    const auto at = known.find(now.inode);
    if (at == known.end() || at->second->peer != now.peer) continue;
    const process::SocketCounters& was = *at->second;
    // The kernel's counters of packets are of 32 bits.
    sent.push_back({now.inode, now.peer, now.bytes_sent - was.bytes_sent,
                    static_cast<std::uint32_t>(now.packets_sent - was.packets_sent),
                    static_cast<std::uint32_t>(now.packets_received - was.packets_received)});
  }
  return sent;
}

nanoseconds own_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

/// Resident pages without those of files: the second number of statm less the third, proc(5).
std::uint64_t anonymous_bytes(const process::ProcDir& proc) {
  const auto text = proc.read_memory_file("statm", 256);
  if (!text) return 0;
  unsigned long long all = 0, resident = 0, shared = 0;
  if (std::sscanf(text->c_str(), "%llu %llu %llu", &all, &resident, &shared) != 3 || shared > resident) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// One watch, in its thread.
class Watching {
 public:
  Watching(process::ProcDir proc, KernelEvidence& evidence)
      : proc_(std::move(proc)), evidence_(evidence), calls_(proc_), began_(steady_clock::now()) {
    if (const auto info = process::read_process_info(proc_)) evidence_.arch = info->arch;
    quotas_ = process::cpu_quotas(proc_.pid());
    times_ = process::process_times();
    files_ = files_of(proc_);
    sockets_ = process::socket_counters(proc_);
    own_ = own_time();
    counted_ = steady_clock::now();
    add_moment();
  }

  void look() {
    if (may_look_) may_look_ = calls_.look();
    const auto now = steady_clock::now();
    const auto text = proc_.read("stat", 4 << 10);
    const auto stat = text ? process::parse_stat_counters(*text) : std::nullopt;
    if (stat) note_children(stat->children_minor_faults);
    if (starts_) starts_->drain();
    if (now - moment_ >= kMoment) add_moment();
  }

  void end() {
    if (starts_) {
      starts_->stop();
      Starts& starts = evidence_.starts.emplace();
      starts.time = starts_->time();
      starts.children = starts_->counter().children();
      starts.programs = starts_->counter().programs();
    }
    evidence_.time = steady_clock::now() - counted_;
    evidence_.own = own_time() - own_;
    evidence_.others =
        process::used_between(times_, process::process_times(), {proc_.pid(), static_cast<std::uint32_t>(::getpid())});
    evidence_.changed = changed_between(proc_, files_, files_of(proc_));
    if (!sockets_.empty()) evidence_.sent = sent_between(sockets_, process::socket_counters(proc_));
    evidence_.quota = process::quota_use(quotas_, process::cpu_quotas(proc_.pid()));
    evidence_.uptime = process::uptime_of(process::read_ticks(proc_));
    evidence_.calls = calls_.tally();
    add_moment();
  }

 private:
  /// A child costs page faults, which the kernel adds to its parent's when it is waited for.
  void note_children(std::uint64_t faults) {
    if (!children_faults_) children_faults_ = faults;
    if (faults == *children_faults_ || has_tried_) return;
    has_tried_ = true;
    if (auto watch = perf::ExecWatch::open(proc_.pid(), evidence_.arch)) starts_.emplace(std::move(*watch));
  }

  void add_moment() {
    moment_ = steady_clock::now();
    const std::uint64_t anonymous = anonymous_bytes(proc_);
    const auto text = proc_.read("stat", 4 << 10);
    const auto stat = text ? process::parse_stat_counters(*text) : std::nullopt;
    if (!stat || anonymous == 0 || evidence_.memory.size() == kMostMoments) return;
    if (!children_faults_) children_faults_ = stat->children_minor_faults;
    evidence_.memory.push_back({moment_ - began_, anonymous, stat->minor_faults});
  }

  process::ProcDir proc_;
  KernelEvidence& evidence_;
  process::CallLooks calls_;
  bool may_look_ = true;
  steady_clock::time_point began_, counted_, moment_;
  std::vector<process::CpuQuota> quotas_;
  std::vector<process::ProcessTime> times_;
  std::vector<FileState> files_;
  std::vector<process::SocketCounters> sockets_;
  nanoseconds own_{0};
  std::optional<std::uint64_t> children_faults_;  ///< at the begin
  bool has_tried_ = false;
  std::optional<perf::ExecWatch> starts_;
};

}  // namespace

struct KernelWatch::Implementation {
  explicit Implementation(std::uint32_t process) : pid(process) {}
  void watch(const std::stop_token& stop);

  std::uint32_t pid;
  KernelEvidence evidence;  // the thread's until it has ended
  std::mutex mutex;
  std::condition_variable_any ends;
  std::jthread thread;
};

void KernelWatch::Implementation::watch(const std::stop_token& stop) {
  auto proc = process::ProcDir::open(pid);
  if (!proc) return;
  Watching watching(std::move(*proc), evidence);
  while (!stop.stop_requested()) {
    const auto begin = steady_clock::now();
    watching.look();
    const nanoseconds pause = std::max<nanoseconds>(kPause, (steady_clock::now() - begin) * kRest);
    std::unique_lock lock(mutex);
    (void)ends.wait_for(lock, stop, pause, [] { return false; });
  }
  watching.end();
}

KernelWatch::KernelWatch(std::uint32_t pid) : implementation_(std::make_unique<Implementation>(pid)) {}
KernelWatch::~KernelWatch() = default;

void KernelWatch::begin() {
  Implementation& i = *implementation_;
  i.thread = {};
  i.evidence = {};
  try {
    i.thread = std::jthread([&i](const std::stop_token& stop) { i.watch(stop); });
  } catch (const std::system_error&) {
    // No thread: nothing is known.
  }
}

KernelEvidence KernelWatch::end() {
  implementation_->thread = {};  // asks it to stop, and waits for it
  return std::move(implementation_->evidence);
}

}  // namespace mixstack::why
