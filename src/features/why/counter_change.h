// What counters of the kernel gained between two looks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mixstack/counters.h"

namespace mixstack::why {

/// A counter that fell was made anew: it says nothing.
template <class Number>
[[nodiscard]] std::optional<Number> gain(const std::optional<Number>& before, const std::optional<Number>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}
[[nodiscard]] inline double seconds_of(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e9;
}
[[nodiscard]] inline double seconds_between(const Counters& before, const Counters& after) {
  return std::max(0.0, seconds_of(after.at - before.at));
}

/// The gains of threads that are there at the second look; one that began meanwhile gained all it has.
[[nodiscard]] inline std::vector<ThreadCounters> thread_gains(const KernelCounters& before,
                                                              const KernelCounters& after) {
  std::unordered_map<std::uint32_t, const ThreadCounters*> known;
  for (const ThreadCounters& t : before.threads) known[t.tid] = &t;
  const ThreadCounters none;
  std::vector<ThreadCounters> gains;
  for (const ThreadCounters& now : after.threads) {
    const auto at = known.find(now.tid);
    const bool is_same = at != known.end() && at->second->cpu.value_or(std::chrono::nanoseconds(0)) <=
                                                  now.cpu.value_or(std::chrono::nanoseconds::max());
    const ThreadCounters& was = is_same ? *at->second : none;
    const auto since = [is_same](const auto& a, const auto& b) { return is_same ? gain(a, b) : b; };
    ThreadCounters& g = gains.emplace_back();
    g.tid = now.tid;
    g.name = now.name;
    g.cpu = since(was.cpu, now.cpu);
    g.waiting = since(was.waiting, now.waiting);
    g.minor_faults = since(was.minor_faults, now.minor_faults);
    g.major_faults = since(was.major_faults, now.major_faults);
    g.reads = since(was.reads, now.reads);
    g.read_bytes = since(was.read_bytes, now.read_bytes);
    g.writes = since(was.writes, now.writes);
    g.written_bytes = since(was.written_bytes, now.written_bytes);
  }
  return gains;
}

}  // namespace mixstack::why
