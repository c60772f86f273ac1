#include "target/live/thread_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace mixstack::target {
namespace {

// The descriptors of a process are its host's, too: an eighth of what it may have, usually 128.
constexpr std::size_t kMostOpen = 1024;
constexpr std::size_t kShare = 8;

[[nodiscard]] std::size_t may_be_held() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return std::min<std::size_t>(kMostOpen, static_cast<std::size_t>(limit.rlim_cur) / kShare);
}

}  // namespace

ThreadStats::ThreadStats(const ProcDir& proc) : proc_(proc), most_(may_be_held()) {}

std::optional<ThreadStat> ThreadStats::read(ThreadId tid, base::ScopedFd& fd) const {
  std::array<char, 1024> buffer;
  for (bool is_new = !fd;; is_new = true) {
    if (is_new) fd = proc_.open_thread_stat(tid);
    if (!fd) return std::nullopt;
    const ssize_t n = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
    if (n > 0) return parse_thread_stat({buffer.data(), static_cast<std::size_t>(n)});
    if (is_new) return std::nullopt;
  }
}

std::vector<std::optional<ThreadStat>> ThreadStats::read(const std::vector<ThreadId>& tids) {
  std::vector<std::optional<ThreadStat>> all;
  all.reserve(tids.size());
  std::vector<Open> kept;
  kept.reserve(std::min(tids.size(), most_));
  auto known = open_.begin();  // the kernel lists threads in one order
  for (const ThreadId tid : tids) {
    const auto at = std::find_if(known, open_.end(), [&](const Open& o) { return o.tid == tid; });
    Open now{tid, {}};
    if (at != open_.end()) {
      now.fd = std::move(at->fd);
      known = at + 1;
    }
    all.push_back(read(tid, now.fd));
    if (all.back() && kept.size() < most_) kept.push_back(std::move(now));
  }
  open_ = std::move(kept);
  return all;
}

}  // namespace mixstack::target
