#include "mixstack/ask_makers.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "features/record/allocation_refusal.h"
#include "features/record/target_state.h"
#include "mixstack/record.h"
#include "output/report/makers.h"
#include "output/report/writer.h"
#include "process/live/proc_dir.h"
#include "process/live/proc_files.h"

namespace mixstack {
namespace {

using std::chrono::steady_clock;
using Key = std::pair<std::uint64_t, std::uint32_t>;  // the runtime's Thread, the system's number

struct Bytes {
  std::uint64_t small = 0, large = 0;
};

/// Nothing: no runtime tells.
std::map<Key, Bytes> bytes_of(Session& session) {
  std::map<Key, Bytes> all;
  const auto counters = session.counters();
  if (!counters) return all;
  for (const RuntimeCounters& runtime : *counters)
    for (const AllocatedBytes& one : runtime.threads) all[{one.thread, one.os_id}] = {one.small, one.large};
  return all;
}

/// The same where nothing may be sampled: waits alone.
void wait_for(const MakersOptions& options) {
  constexpr std::chrono::milliseconds kPiece{100};
  const auto end = steady_clock::now() + options.time;
  while (steady_clock::now() < end && (!options.may_go_on || options.may_go_on()))
    std::this_thread::sleep_for(std::min<steady_clock::duration>(kPiece, end - steady_clock::now()));
}

std::map<std::uint32_t, std::string> names_of(const Recording& recording) {
  std::map<std::uint32_t, std::string> names;
  for (const RecordedThread& thread : recording.threads())
    names[thread.tid] = thread.name.empty() ? thread.comm : thread.name;
  return names;
}

/// The bytes of threads between two readings. One that began in between has no first reading: all of it counts.
void add_threads(const std::map<Key, Bytes>& before, const std::map<Key, Bytes>& after,
                 const std::map<std::uint32_t, std::string>& names, MemoryMakers& out) {
  const auto proc = process::ProcDir::open(out.pid);
  std::map<std::uint32_t, std::uint32_t> tids;  // by number in its namespace
  if (proc && proc->in_other_pid_namespace())
    if (const auto all = proc->tasks()) {
      for (const ThreadId tid : *all) tids[proc->namespace_tid(tid)] = tid;
    }
  for (const auto& [key, now] : after) {
    const auto at = before.find(key);
    const Bytes was = at == before.end() ? Bytes{} : at->second;
    MakerThread thread{.tid = key.second};
    if (const auto ours = tids.find(key.second); ours != tids.end()) thread.tid = ours->second;
    thread.small = now.small - std::min(now.small, was.small);
    thread.large = now.large - std::min(now.large, was.large);
    if (thread.small + thread.large == 0) continue;
    if (const auto name = names.find(thread.tid); name != names.end()) thread.name = name->second;
    if (thread.name.empty()) thread.name = record::name_of_thread(out.pid, thread.tid);
    out.threads.push_back(std::move(thread));
  }
  std::stable_sort(out.threads.begin(), out.threads.end(),
                   [](const MakerThread& a, const MakerThread& b) { return a.small + a.large > b.small + b.large; });
}

}  // namespace

Result<MemoryMakers> ask_makers(Session& session, const MakersOptions& options) {
  const TargetInfo& target = session.target().info();
  if (!target.core_path.empty()) return fail(ErrorCode::unsupported);
  MemoryMakers out;
  out.pid = target.pid;
  out.name = target.comm.empty() ? process::comm_of(target.pid) : target.comm;
  const auto before = bytes_of(session);
  const auto begin = steady_clock::now();
  RecordOptions wanted;
  wanted.mode = RecordMode::allocations;
  wanted.duration = options.time;
  wanted.progress = [&](const RecordProgress&) { return !options.may_go_on || options.may_go_on(); };
  auto recorded = record_stacks(session, wanted);
  if (!recorded && recorded.error().code == ErrorCode::no_such_process) return fail(recorded.error());
  if (!recorded) {
    out.why_no_samples = record::why_no_allocations(recorded.error());
    wait_for(options);
  }
  const auto after = bytes_of(session);
  out.time = steady_clock::now() - begin;
  out.has_bytes = !after.empty();
  add_threads(before, after, recorded ? names_of(*recorded) : std::map<std::uint32_t, std::string>(), out);
  if (recorded) count_makers(*recorded, out);
  return out;
}

void write_text(const MemoryMakers& makers, const ReportSink& sink, const ReportOptions& options) {
  report::Writer writer(sink);
  report::write_makers_text(writer, makers, options);
  writer.flush();
}

void write_json(const MemoryMakers& makers, const ReportSink& sink) {
  report::Writer writer(sink);
  report::write_makers_json(writer, makers);
  writer.flush();
}

}  // namespace mixstack
