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

std::optional<ThreadStat> ThreadStats::read(Open& file) const {
  if (file.told == Told::name) {
    if (!file.fd) file.fd = proc_.open_thread_name(file.tid);
    return file.fd ? std::optional(ThreadStat{}) : std::nullopt;
  }
  std::array<char, 1024> buffer;
  for (bool is_new = !file.fd;; is_new = true) {
    if (is_new) file.fd = proc_.open_thread_stat(file.tid);
    if (!file.fd) return std::nullopt;
    const ssize_t n = ::pread(file.fd.get(), buffer.data(), buffer.size(), 0);
    if (n > 0) return parse_thread_stat({buffer.data(), static_cast<std::size_t>(n)});
    if (is_new) return std::nullopt;
  }
}

std::vector<std::optional<ThreadStat>> ThreadStats::read(const std::vector<ThreadId>& tids) {
  std::vector<std::optional<ThreadStat>> all;
  all.reserve(tids.size());
  name_files_.clear();
  std::vector<Open> kept;
  kept.reserve(std::min(tids.size(), most_));
  auto known = open_.begin();  // the kernel lists threads in one order
  for (const ThreadId tid : tids) {
    const auto at = std::find_if(known, open_.end(), [&](const Open& o) { return o.tid == tid; });
    Open now{tid, Told::all, {}};
    if (at != open_.end()) {
      now = std::move(*at);
      known = at + 1;
    }
    if (kept.size() == most_) now = {tid, Told::all, {}};  // its file does not stay
    all.push_back(read(now));
    name_files_.push_back(all.back() && now.told == Told::name ? now.fd.get() : -1);
    if (all.back() && kept.size() < most_) kept.push_back(std::move(now));
  }
  open_ = std::move(kept);
  return all;
}

void ThreadStats::expect_waiting(const std::vector<ThreadId>& tids) {
  auto next = tids.begin();
  for (Open& file : open_) {
    const auto at = std::find(next, tids.end(), file.tid);
    const Told told = at == tids.end() ? Told::all : Told::name;
    if (at != tids.end()) next = at + 1;
    if (told != file.told) file = {file.tid, told, {}};
  }
}

}  // namespace mixstack::target
