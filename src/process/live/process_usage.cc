#include "process/live/process_usage.h"

#include <unistd.h>

#include <algorithm>

#include "base/system/number.h"
#include "process/live/kernel_counters.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMostCgroups = 64 << 10;

}  // namespace

double ticks_a_second() { return static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK))); }

ProcessTicks read_ticks(const ProcDir& proc) {
  const auto text = proc.read("stat", 4 << 10);
  const auto stat = text ? parse_stat_counters(*text) : std::nullopt;
  if (!stat) return {};
  return {stat->user + stat->system, stat->started};
}

std::optional<std::chrono::nanoseconds> uptime_of(const ProcessTicks& ticks) {
  struct timespec now {};
  if (ticks.started == 0 || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return std::nullopt;
  const double seconds = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 -
                         static_cast<double>(ticks.started) / ticks_a_second();
  if (seconds < 0) return std::nullopt;  // in a time namespace the start is told by another clock
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

std::string container_in(std::string_view cgroups) {
  constexpr std::size_t kId = 64, kShown = 12;
  std::size_t run = 0;
  for (std::size_t i = 0; i < cgroups.size(); i++) {
    const char c = cgroups[i];
    run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
    const bool ends =
        i + 1 == cgroups.size() || std::string_view("\n./").find(cgroups[i + 1]) != std::string_view::npos;
    if (run == kId && ends) return std::string(cgroups.substr(i + 1 - kId, kShown));
  }
  return {};
}

std::optional<std::chrono::nanoseconds> cpu_of_process(std::uint32_t pid) {
  clockid_t clock = 0;
  struct timespec now {};
  if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 || ::clock_gettime(clock, &now) != 0)
    return std::nullopt;
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

UsageMeter::UsageMeter(std::uint32_t pid)
    : pid_(pid), cpu_(cpu_of_process(pid)), at_(std::chrono::steady_clock::now()) {}

bool UsageMeter::is_at_rest() const {
  constexpr int kHardly = 20;  // a part of one processor
  const auto interval = std::chrono::steady_clock::now() - at_;
  const auto now = cpu_of_process(pid_);
  const bool tells = interval >= std::chrono::milliseconds(1) && interval <= std::chrono::seconds(5);
  return tells && cpu_ && now && (*now - *cpu_) * kHardly <= interval;
}

ProcessUsage UsageMeter::look(const ProcDir& proc, std::chrono::nanoseconds stopped) {
  ProcessUsage usage;
  const auto now = std::chrono::steady_clock::now();
  usage.cpu = cpu_of_process(pid_);
  const std::chrono::nanoseconds interval = now - at_ - stopped;
  if (usage.cpu && cpu_ && *usage.cpu >= *cpu_ && interval.count() > 0) {
    usage.interval = interval;
    usage.busy = static_cast<double>((*usage.cpu - *cpu_).count()) / static_cast<double>(interval.count());
  }
  cpu_ = usage.cpu;
  at_ = now;
  usage.uptime = uptime_of(read_ticks(proc));
  // proc(5), statm: pages, the second number those in memory.
  if (const auto statm = proc.read("statm", 256)) {
    const std::size_t space = statm->find(' ');
    if (space != std::string::npos)
      usage.resident_bytes = base::leading_number<std::uint64_t>(std::string_view(*statm).substr(space)).value_or(0) *
                             static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
  }
  if (const auto cgroups = proc.read("cgroup", kMostCgroups)) usage.container = container_in(*cgroups);
  return usage;
}

}  // namespace mixstack::process
