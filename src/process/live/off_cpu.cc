#include "process/live/off_cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <map>
#include <string>
#include <system_error>
#include <thread>

namespace mixstack::process {
namespace {

constexpr std::size_t kMostProcessors = 32;
constexpr std::size_t kStartOfFile = 1024;  // the line wanted is the third

/// The clock of a processor, told by our own thread having just come to it.
std::optional<std::chrono::nanoseconds> clock_of(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  if (::sched_setaffinity(0, sizeof only, &only) != 0) return std::nullopt;
  const base::ScopedFd file(::open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC));
  std::array<char, kStartOfFile> text{};
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : -1;
  return n <= 0 ? std::nullopt : parse_exec_start({text.data(), static_cast<std::size_t>(n)});
}

/// Read by a thread that then ends, so that no other thread's affinity changes. False: no thread can be started.
bool read_clocks(std::map<int, std::chrono::nanoseconds>& clocks) {
  try {
    std::thread([&clocks] {
      for (auto at = clocks.begin(); at != clocks.end();) {
        const auto now = at->first < CPU_SETSIZE ? clock_of(at->first) : std::nullopt;
        if (now) at->second = *now;
        at = now ? std::next(at) : clocks.erase(at);
      }
    }).join();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_exec_start(std::string_view sched) {
  constexpr std::string_view kName = "se.exec_start";
  const std::size_t line = sched.find(kName);
  if (line == std::string_view::npos) return std::nullopt;
  const std::size_t value = sched.find_first_not_of(" \t:", line + kName.size());
  if (value == std::string_view::npos) return std::nullopt;
  std::int64_t ms = 0, ns = 0;
  const char* const end = sched.data() + sched.size();
  const auto [point, error] = std::from_chars(sched.data() + value, end, ms);
  constexpr std::int64_t kMost = INT64_MAX / 1'000'000 - 1;
  if (error != std::errc{} || ms < 0 || ms > kMost || end - point < 7 || *point != '.') return std::nullopt;
  const auto [rest, bad] = std::from_chars(point + 1, point + 7, ns);
  if (bad != std::errc{} || rest != point + 7 || ns < 0) return std::nullopt;
  return std::chrono::milliseconds(ms) + std::chrono::nanoseconds(ns);
}

std::unordered_map<ThreadId, std::chrono::nanoseconds> off_cpu_times(const ProcDir& proc,
                                                                     std::span<const ThreadId> threads) {
  struct Left {
    ThreadId tid;
    int processor;
    std::chrono::nanoseconds at;
  };
  std::vector<Left> waiting;
  std::map<int, std::chrono::nanoseconds> clocks;
  for (const ThreadId tid : threads) {
    const auto stat = proc.thread_stat(tid);
    if (!stat || stat->state == 'R' || stat->cpu < 0) continue;
    if (!clocks.contains(stat->cpu) && clocks.size() == kMostProcessors) continue;
    const auto sched = proc.read("task/" + std::to_string(tid) + "/sched", 16 << 10);
    const auto at = sched ? parse_exec_start(*sched) : std::nullopt;
    const bool has_ended = !at && !proc.has_task(tid);
    if (!at && !has_ended && waiting.empty()) return {};  // this kernel tells of none
    if (!at) continue;
    waiting.push_back({tid, stat->cpu, *at});
    clocks.try_emplace(stat->cpu);
  }
  std::unordered_map<ThreadId, std::chrono::nanoseconds> times;
  if (waiting.empty() || !read_clocks(clocks)) return times;
  for (const Left& left : waiting) {
    const auto now = clocks.find(left.processor);
    if (now != clocks.end() && now->second > left.at) times[left.tid] = now->second - left.at;
  }
  return times;
}

}  // namespace mixstack::process
