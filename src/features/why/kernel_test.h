// For tests: two looks at a process that does nothing, to be changed.
#pragma once

#include <chrono>

#include "features/why/kernel_evidence.h"
#include "mixstack/counters.h"
#include "mixstack/slowness.h"

namespace mixstack::why::test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A healthy service, looked at for two seconds on two processors: 0.2 processors, some faults, some writes.
struct TwoLooks {
  TwoLooks() {
    before.at = std::chrono::steady_clock::time_point(seconds(1000));
    after.at = before.at + seconds(2);
    KernelCounters& a = before.kernel;
    a.minor_faults = 50'000;
    a.major_faults = 3;
    a.user = seconds(100);
    a.system = seconds(20);
    a.children = seconds(1);
    a.children_faults = 400;
    a.writes = 1'000'000;
    a.written_bytes = 90'000'000;
    a.rss = 200 << 20;
    a.rss_anon = 100 << 20;
    a.processors = 2;
    a.machine_busy = seconds(9000);
    a.busy_there = seconds(9000);
    a.threads.push_back(thread(41, milliseconds(9000), milliseconds(30), 900'000));
    a.threads.push_back(thread(42, milliseconds(3000), milliseconds(10), 100'000));
    after.kernel = a;
    KernelCounters& b = after.kernel;
    *b.minor_faults += 600;
    *b.user += milliseconds(350);
    *b.system += milliseconds(50);
    *b.writes += 900;
    *b.written_bytes += 80'000;
    *b.machine_busy += milliseconds(900);
    *b.busy_there += milliseconds(900);
    *b.threads[0].cpu += milliseconds(380);
    *b.threads[0].waiting += milliseconds(5);
    *b.threads[0].writes += 900;
    RuntimeCounters runtime;
    runtime.committed = 60 << 20;
    runtime.methods = 3000;
    before.runtimes = after.runtimes = {runtime};
    evidence.arch = Arch::x86_64;
    evidence.time = seconds(2);
    evidence.uptime = std::chrono::minutes(5);
    evidence.own = milliseconds(60);
    evidence.calls.looks = 150;
    for (int i = 0; i <= 20; i++)
      evidence.memory.push_back({milliseconds(100) * i, 100 << 20, 50'000u + 30u * static_cast<unsigned>(i)});
  }
  /// Anonymous memory rises evenly by `bytes`.
  void grow(std::uint64_t bytes) {
    after.kernel.rss_anon = *before.kernel.rss_anon + bytes;
    for (std::size_t i = 0; i < evidence.memory.size(); i++)
      evidence.memory[i].anonymous = (100 << 20) + bytes * i / (evidence.memory.size() - 1);
  }
  /// Faults come evenly, so many in all.
  void fault(std::uint64_t faults) {
    after.kernel.minor_faults = *before.kernel.minor_faults + faults;
    for (std::size_t i = 0; i < evidence.memory.size(); i++)
      evidence.memory[i].minor_faults = 50'000 + faults * i / (evidence.memory.size() - 1);
  }

  static ThreadCounters thread(std::uint32_t tid, nanoseconds cpu, nanoseconds waiting, std::uint64_t writes) {
    ThreadCounters t;
    t.tid = tid;
    t.name = "worker";
    t.cpu = cpu;
    t.waiting = waiting;
    t.writes = writes;
    return t;
  }

  Counters before, after;
  KernelEvidence evidence;
};

inline double fact(const SlowCause& cause, std::string_view name) {
  for (const SlowFact& f : cause.facts)
    if (f.first == name) return f.second;
  return -1;
}

}  // namespace mixstack::why::test
