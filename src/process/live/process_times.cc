#include "process/live/process_times.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/system/number.h"
#include "base/system/scoped_fd.h"
#include "process/live/kernel_counters.h"
#include "process/live/process_usage.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMostProcesses = 8192;

struct CloseFolder {
  void operator()(DIR* folder) const { (void)::closedir(folder); }
};

}  // namespace

std::vector<ProcessTime> process_times() {
  std::vector<ProcessTime> all;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc"));
  if (!folder) return all;
  std::array<char, 1024> room;
  while (const dirent* entry = all.size() < kMostProcesses ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    ProcessTime process;
    const auto pid = base::number<decltype(process.pid)>(name);
    if (!pid) continue;
    process.pid = *pid;
    const std::string path = std::string(name) + "/stat";
    const base::ScopedFd file(::openat(::dirfd(folder.get()), path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), room.data(), room.size()) : -1;
    if (size <= 0) continue;
    const auto stat = parse_stat_counters({room.data(), static_cast<std::size_t>(size)});
    if (!stat) continue;
    process.started = stat->started;
    process.used = stat->user + stat->system;
    process.name = stat->name;
    all.push_back(std::move(process));
  }
  const auto is_less = [](const ProcessTime& a, const ProcessTime& b) { return a.pid < b.pid; };
  std::sort(all.begin(), all.end(), is_less);
  return all;
}

std::vector<NamedTime> used_between(const std::vector<ProcessTime>& before, const std::vector<ProcessTime>& after,
                                    const std::vector<std::uint32_t>& left_out) {
  std::map<std::string_view, NamedTime> by_name;
  const auto is_less = [](const ProcessTime& a, std::uint32_t pid) { return a.pid < pid; };
  for (const ProcessTime& now : after) {
    if (std::find(left_out.begin(), left_out.end(), now.pid) != left_out.end()) continue;
    const auto was = std::lower_bound(before.begin(), before.end(), now.pid, is_less);
    const bool is_same = was != before.end() && was->pid == now.pid && was->started == now.started;
    const std::uint64_t start = is_same ? was->used : 0;
    if (now.used <= start) continue;
    NamedTime& named = by_name[now.name];
    named.name = now.name;
    named.processes++;
    const double ns = static_cast<double>(now.used - start) / ticks_a_second() * 1e9;
    named.used += std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(ns, 1e18)));
  }
  std::vector<NamedTime> list;
  for (auto& [name, named] : by_name) list.push_back(std::move(named));
  std::stable_sort(list.begin(), list.end(), [](const NamedTime& a, const NamedTime& b) { return a.used > b.used; });
  return list;
}

}  // namespace mixstack::process
