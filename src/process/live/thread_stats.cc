#include "process/live/thread_stats.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/system/shared_work.h"

namespace mixstack::process {
namespace {

// The host program shares our descriptors: keep an eighth of its limit, usually 128.
constexpr std::size_t kMostOpen = 1024;
constexpr std::size_t kShare = 8;

[[nodiscard]] std::size_t may_be_held() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return std::min<std::size_t>(kMostOpen, static_cast<std::size_t>(limit.rlim_cur) / kShare);
}

}  // namespace

ThreadStats::ThreadStats(const ProcDir& proc) : proc_(proc), most_(may_be_held()) {}

void ThreadStats::expect(std::size_t threads) {
  constexpr std::size_t kFew = 64, kOthers = 32;
  const std::size_t files = std::min(threads, most_);
  if (files < kFew || files <= expected_) return;
  expected_ = files;
  const base::ScopedFd any(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  if (!any) return;
  const base::ScopedFd highest(::fcntl(any.get(), F_DUPFD_CLOEXEC, any.get() + static_cast<int>(files + kOthers)));
}

std::optional<ThreadStat> ThreadStats::read(Open& file) const {
  if (file.is_other) file.fd = {};
  file.is_other = false;
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
  std::vector<std::optional<ThreadStat>> all(tids.size());
  std::vector<Open> files;
  files.reserve(tids.size());
  auto known = open_.begin();  // the kernel lists threads in one order
  std::size_t opened = 0;
  for (const ThreadId tid : tids) {
    const auto at = std::find_if(known, open_.end(), [&](const Open& o) { return o.tid == tid; });
    Open& now = files.emplace_back(Open{tid, usually_, {}, false});
    if (at != open_.end()) {
      now = std::move(*at);
      known = at + 1;
    }
    if (files.size() > most_) now = {tid, Told::all, {}, false};  // its file does not stay
    if (!now.fd) opened++;
  }
  const auto read_one = [&](std::size_t i) {
    all[i] = read(files[i]);
    if (i >= most_) files[i].fd = {};
  };
  // Hundreds of files take milliseconds to open.
  if (opened != 0) {
    expect(opened);
    base::for_each_of_many(files.size(), read_one);
  } else {
    for (std::size_t i = 0; i < files.size(); i++) read_one(i);
  }
  keep(std::move(files), all);
  return all;
}

/// Files of threads that are there, as many as may be held.
void ThreadStats::keep(std::vector<Open> files, const std::vector<std::optional<ThreadStat>>& told) {
  name_files_.clear();
  open_.clear();
  for (std::size_t i = 0; i < files.size(); i++) {
    const bool stays = told[i] && files[i].fd;
    name_files_.push_back(stays && files[i].told == Told::name ? files[i].fd.get() : -1);
    if (stays) open_.push_back(std::move(files[i]));
  }
}

void ThreadStats::expect_waiting(const std::vector<ThreadId>& tids) {
  auto next = tids.begin();
  for (Open& file : open_) {
    const auto at = std::find(next, tids.end(), file.tid);
    const Told told = at == tids.end() ? Told::all : Told::name;
    if (at != tids.end()) next = at + 1;
    // The open file is closed only when the other one is wanted: a process may be looked at once only.
    if (told != file.told) file.is_other = !file.is_other;
    file.told = told;
  }
}

}  // namespace mixstack::process
