// Counters of the kernel for one process and the machine it runs on.
// Input: the open directory of a process. Output: KernelCounters.
// Algorithm: each thread's schedstat, stat and io (one read of each, by the descriptor of the task directory; schedstat
// alone, where it says what it said at an earlier look); the process's stat, io and status; the memory controller's
// files of its cgroup and those above it; the processors that it may run on, and /proc/stat for the time that these and
// all others were busy. Bounds: kMostThreads threads, 512 bytes of a thread's file; 32 cgroups; kMostProcessors
// processors.
#include "process/live/kernel_counters.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "process/live/cgroup.h"
#include "process/live/process_usage.h"

namespace mixstack::process {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostThreads = 4096, kMostProcessors = 8192;
constexpr std::int64_t kMostNanoseconds = INT64_MAX / 4;  // no sum of two overflows

nanoseconds of_ticks(std::uint64_t ticks) {
  const double ns = static_cast<double>(ticks) / ticks_a_second() * 1e9;
  return nanoseconds(static_cast<std::int64_t>(std::min(ns, static_cast<double>(kMostNanoseconds))));
}

std::optional<nanoseconds> nanoseconds_in(std::string_view text) {
  const auto value = leading_number(text);
  if (!value || *value > static_cast<std::uint64_t>(kMostNanoseconds)) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(*value));
}

/// `before`: of the same thread at an earlier look, or null. A thread that has not run since then has done nothing, and
/// one file tells that.
ThreadCounters counters_of(const ProcDir& proc, ThreadId tid, const ThreadCounters* before) {
  ThreadCounters thread;
  thread.tid = tid;
  if (const auto text = proc.read_of_task(tid, "schedstat")) {
    std::string_view rest = *text;  // "cpu-ns queued-ns runs"
    thread.cpu = nanoseconds_in(next_piece(rest, ' '));
    thread.waiting = nanoseconds_in(next_piece(rest, ' '));
  }
  if (before != nullptr && thread.cpu && thread.cpu == before->cpu && thread.waiting == before->waiting) return *before;
  if (const auto text = proc.read_of_task(tid, "stat"))
    if (const auto stat = parse_stat_counters(*text)) {
      thread.name = stat->name;
      thread.minor_faults = stat->minor_faults;
      thread.major_faults = stat->major_faults;
    }
  if (const auto text = proc.read_of_task(tid, "io")) {
    const IoCounters io = parse_io_counters(*text);
    thread.reads = io.reads, thread.read_bytes = io.read_bytes;
    thread.writes = io.writes, thread.written_bytes = io.written_bytes;
  }
  return thread;
}

void read_process(const ProcDir& proc, KernelCounters& all) {
  if (const auto text = proc.read("stat", 4 << 10))
    if (const auto stat = parse_stat_counters(*text)) {
      all.minor_faults = stat->minor_faults;
      all.major_faults = stat->major_faults;
      all.user = of_ticks(stat->user);
      all.system = of_ticks(stat->system);
      all.children = of_ticks(stat->children_user) + of_ticks(stat->children_system);
      all.children_faults = stat->children_minor_faults;
    }
  if (const auto text = proc.read("io", 4 << 10)) {
    const IoCounters io = parse_io_counters(*text);
    all.reads = io.reads, all.read_bytes = io.read_bytes;
    all.writes = io.writes, all.written_bytes = io.written_bytes;
  }
  const auto status = proc.read_memory_file("status", 64 << 10);
  const auto kilobytes = [&](std::string_view key) -> std::optional<std::uint64_t> {
    const auto field = status ? status_field(*status, key) : std::nullopt;
    const auto value = field ? leading_number(*field) : std::nullopt;
    if (!value || *value > UINT64_MAX >> 10) return std::nullopt;
    return *value << 10;
  };
  all.rss = kilobytes("VmRSS");
  all.rss_anon = kilobytes("RssAnon");
  all.swap = kilobytes("VmSwap");
}

/// The limit with the least room left.
void read_memory_limit(std::uint32_t pid, KernelCounters& all) {
  for (const CgroupLevel& level : cgroup_levels(pid, "memory")) {
    const std::string name = level.is_v2 ? "/memory.max" : "/memory.limit_in_bytes";
    const auto limit = leading_number(read_cgroup_file(level.folder + name));
    if (!limit || *limit >= 1ull << 62) continue;  // version 1 writes "none" as a number of that size
    const std::string used_name = level.is_v2 ? "/memory.current" : "/memory.usage_in_bytes";
    const auto used = leading_number(read_cgroup_file(level.folder + used_name));
    if (!used) continue;
    const auto room = [](std::uint64_t most, std::uint64_t now) { return most - std::min(most, now); };
    if (all.memory_limit && room(*all.memory_limit, *all.memory_used) <= room(*limit, *used)) continue;
    all.memory_limit = limit;
    all.memory_used = used;
  }
}

/// By number: the processors that a thread may run on.
std::vector<bool> allowed_processors(ThreadId tid) {
  std::vector<cpu_set_t> sets((kMostProcessors + CPU_SETSIZE - 1) / CPU_SETSIZE);
  const std::size_t bytes = sets.size() * sizeof(cpu_set_t);
  std::vector<bool> allowed;
  if (::sched_getaffinity(static_cast<pid_t>(tid), bytes, sets.data()) != 0) return allowed;
  for (std::size_t cpu = 0; cpu < kMostProcessors; cpu++)
    if (CPU_ISSET_S(cpu, bytes, sets.data())) {
      allowed.resize(cpu + 1);
      allowed[cpu] = true;
    }
  return allowed;
}

}  // namespace

// proc(5): state is field 3; minflt, cminflt, majflt are 10 to 12, utime to cstime 14 to 17, starttime 22. The name may
// hold anything.
std::optional<StatCounters> parse_stat_counters(std::string_view line) {
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  StatCounters stat;
  stat.name = line.substr(open + 1, close - open - 1);
  std::string_view rest = line.substr(close + 1);
  (void)next_piece(rest, ' ');
  if (rest.empty()) return std::nullopt;
  for (unsigned field = 3; field <= 22; field++) {
    const std::string_view text = next_piece(rest, ' ');
    if (field == 3 && !text.empty()) stat.state = text.front();
    std::uint64_t* const to = field == 10   ? &stat.minor_faults
                              : field == 11 ? &stat.children_minor_faults
                              : field == 12 ? &stat.major_faults
                              : field == 14 ? &stat.user
                              : field == 15 ? &stat.system
                              : field == 16 ? &stat.children_user
                              : field == 17 ? &stat.children_system
                              : field == 22 ? &stat.started
                                            : nullptr;
    if (to != nullptr) *to = leading_number(text).value_or(0);
  }
  return stat;
}

IoCounters parse_io_counters(std::string_view text) {
  IoCounters io;
  while (!text.empty()) {
    std::string_view value = next_piece(text, '\n');
    const std::string_view key = next_piece(value, ':');
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (key == "rchar") io.read_bytes = leading_number(value);
    if (key == "wchar") io.written_bytes = leading_number(value);
    if (key == "syscr") io.reads = leading_number(value);
    if (key == "syscw") io.writes = leading_number(value);
  }
  return io;
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice", then "cpu0 ..." for each one online. Time of
// guests is in user and nice, too; stolen time is another machine's.
BusyProcessors parse_busy_processors(std::string_view text, const std::vector<bool>& allowed) {
  BusyProcessors busy;
  while (text.starts_with("cpu")) {
    std::string_view line = next_piece(text, '\n');
    line.remove_prefix(3);
    const auto number = leading_number(line);
    (void)next_piece(line, ' ');
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::uint64_t ticks = 0;
    for (int field = 0; field < 7; field++) {
      const auto value = leading_number(next_piece(line, ' '));
      const bool is_idle = field == 3 || field == 4;
      if (!is_idle && value && *value < UINT64_MAX / 16) ticks += *value;
    }
    if (!number) busy.all = of_ticks(ticks);
    if (number && *number < allowed.size() && allowed[*number])
      busy.allowed = std::min(nanoseconds(kMostNanoseconds), busy.allowed.value_or(nanoseconds(0)) + of_ticks(ticks));
  }
  return busy;
}

KernelCounters kernel_counters(const ProcDir& proc, const KernelCounters& before) {
  KernelCounters all;
  const auto tids = proc.tasks();
  if (!tids) return all;
  all.threads.reserve(std::min(tids->size(), kMostThreads));
  auto known = before.threads.begin();  // the kernel lists threads in one order
  for (std::size_t i = 0; i < std::min(tids->size(), kMostThreads); i++) {
    const auto is_it = [tid = (*tids)[i]](const ThreadCounters& t) { return t.tid == tid; };
    const auto at = std::find_if(known, before.threads.end(), is_it);
    const bool is_known = at != before.threads.end();
    all.threads.push_back(counters_of(proc, (*tids)[i], is_known ? &*at : nullptr));
    if (is_known) known = at + 1;
  }
  read_process(proc, all);
  read_memory_limit(proc.pid(), all);
  const std::vector<bool> allowed = allowed_processors(proc.pid());
  all.processors = static_cast<std::uint32_t>(std::count(allowed.begin(), allowed.end(), true));
  const BusyProcessors busy = parse_busy_processors(read_cgroup_file("/proc/stat"), allowed);
  all.machine_busy = busy.all;
  all.busy_there = busy.allowed;
  return all;
}

KernelCounters kernel_counters(std::uint32_t pid, const KernelCounters& before) {
  const auto proc = ProcDir::open(pid);
  return proc ? kernel_counters(*proc, before) : KernelCounters();
}

}  // namespace mixstack::process
