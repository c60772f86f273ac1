#include "session/own_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/system/proc_status.h"
#include "base/system/small_file.h"
#include "process/live/kernel_counters.h"

namespace mixstack::session {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 60;

std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) { return limit - std::min(limit, used); }

OwnLimits own_limits() {
  OwnLimits limits;
  constexpr std::size_t kMostText = 64 << 10;
  limits.machine = available_in(base::text_at("/proc/meminfo", kMostText));
  const KernelCounters own = process::kernel_counters(static_cast<std::uint32_t>(::getpid()));
  if (own.memory_limit && own.memory_used) limits.cgroup = left_of(*own.memory_limit, *own.memory_used);
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    limits.address_space = left_of(space.rlim_cur, base::status_number(base::own_status(), "VmSize") << 10);
  return limits;
}

}  // namespace

std::optional<std::uint64_t> available_in(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t at = meminfo.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  meminfo.remove_prefix(at + kKey.size());
  meminfo.remove_prefix(std::min(meminfo.find_first_not_of(' '), meminfo.size()));
  std::uint64_t kilobytes = 0;
  const auto read = std::from_chars(meminfo.data(), meminfo.data() + meminfo.size(), kilobytes);
  if (read.ec != std::errc() || kilobytes > kMost >> 10) return std::nullopt;
  return kilobytes << 10;
}

std::uint64_t memory_to_take(const OwnLimits& limits) {
  constexpr std::uint64_t kNotKnown = std::uint64_t{1} << 30;
  std::uint64_t left = kMost;
  for (const auto& limit : {limits.machine, limits.cgroup, limits.address_space})
    if (limit) left = std::min(left, *limit);
  return (left == kMost ? kNotKnown : left) / 2;
}

std::uint64_t memory_to_take() { return memory_to_take(own_limits()); }

}  // namespace mixstack::session
