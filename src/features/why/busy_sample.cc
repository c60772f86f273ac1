#include "features/why/busy_sample.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/arch/pause.h"
#include "features/record/kernel_symbols.h"
#include "features/record/open_recorder.h"
#include "features/record/suspension_watch.h"
#include "features/why/busyness.h"
#include "features/why/thread_clocks.h"
#include "process/live/cpu_quota.h"
#include "process/live/process_usage.h"

namespace mixstack::why {
namespace {

constexpr std::uint32_t kHertz = 499;  // of a second, a share is known to some percent

struct Taking {
  record::KernelSymbols kernel;
  record::SharedRecording shared;
  record::OpenedRecorder opened;
};

Result<std::unique_ptr<Taking>> open(const std::shared_ptr<record::SharedSession>& session, bool kernel) {
  auto taking = std::make_unique<Taking>();
  const TargetInfo& target = session->session->target().info();
  record::RecorderOptions options;
  options.want = record::Want::cpu;
  options.hertz = kHertz;
  options.kernel = kernel;
  if (kernel) options.stacks.kernel = &taking->kernel;
  const auto process = taking->shared.recording.process({.pid = target.pid, .comm = target.comm});
  options.stacks.process = process.value_or(0);
  auto opened = record::open_recorder(session, taking->shared, options);
  if (!opened) return fail(opened.error().error);
  taking->opened = std::move(*opened);
  return taking;
}

/// Frames of the kernel are shown where perf events are allowed to have them.
Result<std::unique_ptr<Taking>> open(const std::shared_ptr<record::SharedSession>& session) {
  if (auto with_kernel = open(session, true); with_kernel && (*with_kernel)->opened.cpu_hertz != 0) return with_kernel;
  return open(session, false);
}

/// By our ids of threads; the runtime has those inside the target's pid namespace.
std::map<std::uint32_t, double> by_our_ids(const std::map<ThreadId, double>& shares, const ProcessDump& dump) {
  std::map<std::uint32_t, double> ours;
  for (const auto& [ns_tid, share] : shares) {
    const auto is_it = [tid = ns_tid](const ThreadDump& t) { return t.ns_tid == tid; };
    const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
    ours[at == dump.threads.end() ? ns_tid : at->tid] = share;
  }
  return ours;
}

void add_losses(const Taking& taking, Busyness& busy) {
  const record::SourceAccount sources = taking.opened.recorder->account();
  const RecordingAccount& account = taking.shared.recording.facts.account;
  busy.lost = sources.lost_in_kernel + sources.lost_to_stops + taking.opened.recorder->lost_in_queue() +
              account.lost_in_tree + account.lost_to_stops;
}

/// Where an image without names lies: what is added to addresses at link time. By a frame of it on some stack.
std::optional<Address> bias_of(const ProcessDump& dump, std::string_view path) {
  for (const ThreadDump& t : dump.threads)
    for (std::size_t i = 0; i < std::min(t.symbols.size(), t.trace.frames.size()); i++) {
      if (t.symbols[i] >= dump.symbols.size()) continue;
      const SymbolInfo& symbol = dump.symbols[t.symbols[i]];
      if (symbol.module_path == path && symbol.name.empty()) return t.trace.frames[i].pc.raw() - symbol.offset;
    }
  return std::nullopt;
}

/// Frames in which the runtime pauses, as it does for Thread.SpinWait: it has no names of functions that would tell.
std::set<std::uint32_t> pausing_frames(const MemoryReader& memory, const ProcessDump& dump,
                                       const Recording& recording) {
  constexpr std::size_t kMost = 4096;
  std::map<std::uint32_t, std::optional<Address>> biases;  // by module
  std::set<std::uint32_t> pausing;
  const Arch arch = dump.target.arch;
  for (std::uint32_t n = 0; n < std::min(recording.frames().size(), kMost); n++) {
    const RecordedFrame& frame = recording.frames()[n];
    const RecordedFunction& function = recording.functions()[frame.function];
    if (frame.address == 0 || function.kind != CodeKind::runtime || function.module == kNoIndex) continue;
    const auto [bias, is_new] = biases.try_emplace(function.module, std::nullopt);
    if (is_new) bias->second = bias_of(dump, recording.modules()[function.module].path);
    if (!bias->second) continue;
    std::array<std::byte, 2 * arch::kPauseReach> code{};
    if (memory.read_exact(*bias->second + frame.address - arch::kPauseReach, code) && arch::pauses(arch, code))
      pausing.insert(n);
  }
  return pausing;
}

/// Methods without frames whose work the busiest method of the program may do: the JIT leaves no trace of them.
void add_contained(record::SharedSession& session, const Recording& recording, Busyness& busy) {
  constexpr std::uint64_t kLeastTenths = 3;
  const auto is_hot = [&](const BusyFunction& f) {
    return f.kind == BusyKind::program && f.self * 10 >= busy.samples * kLeastTenths;
  };
  const auto hot = std::find_if(busy.functions.begin(), busy.functions.end(), is_hot);
  if (hot == busy.functions.end()) return;
  std::set<std::string> seen;
  std::uint64_t address = 0;
  for (const RecordedFrame& frame : recording.frames()) {
    const std::string name = shown_name(recording, frame.function);
    if (name == hot->name && frame.address != 0) address = frame.address;
    seen.insert(name);
  }
  if (address == 0) return;
  const std::lock_guard lock(session.mutex);
  auto walker = session.session->walker_of({}, {});
  if (!walker) return;
  for (const SymbolInfo& symbol : walker->may_contain(CodeAddress::exact(address)))
    if (!seen.contains(symbol.name)) hot->may_contain.push_back(symbol.name);
}

}  // namespace

bool has_run_since(const ProcessDump& dump, std::chrono::steady_clock::time_point began) {
  constexpr std::chrono::milliseconds kLeast{10};
  constexpr std::chrono::microseconds kByOurStop{20};  // of each thread, with what it takes to go back to its wait
  std::this_thread::sleep_until(began + kLeast);
  // The clock of a runnable thread that gets no processor stands still: its state counts instead.
  const ThreadClocks clocks(dump.target.pid);
  const auto runs = [&](const ThreadDump& t) { return t.kernel_state == 'R' && clocks.is_runnable(t.tid); };
  if (std::any_of(dump.threads.begin(), dump.threads.end(), runs)) return true;
  std::chrono::nanoseconds used{0};
  for (const ThreadDump& t : dump.threads) {
    if (!t.facts.cpu) continue;
    const auto now = clocks.cpu(t.tid);
    if (now && *now > *t.facts.cpu + kByOurStop) used += *now - *t.facts.cpu - kByOurStop;
  }
  return used > (std::chrono::steady_clock::now() - began) / 20;
}

Result<Busyness> sample_busyness(const std::shared_ptr<record::SharedSession>& session, const ProcessDump& dump,
                                 std::chrono::milliseconds time, const SampleHooks& hooks) {
  const std::uint32_t pid = dump.target.pid;
  auto taking = open(session);
  if (!taking) return fail(taking.error());
  record::ProcessRecorder& recorder = *(*taking)->opened.recorder;
  recorder.warm_up();
  const auto cpu_before = process::cpu_of_process(pid);
  const auto quotas_before = process::cpu_quotas(pid);
  const std::uint64_t start = record::monotonic_ns();
  const std::uint64_t end = start + static_cast<std::uint64_t>(time.count()) * 1'000'000u;
  recorder.start(start, end);
  std::map<ThreadId, double> shares;
  {
    record::SuspensionWatch watch(recorder.session());
    for (std::uint64_t now = start; now < end && !recorder.has_ended(); now = record::monotonic_ns()) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::uint64_t>(end - now, 20'000'000)));
      if (hooks.tick) hooks.tick();
    }
    shares = watch.end();
  }
  const std::uint64_t ended = record::monotonic_ns();
  const auto cpu_after = process::cpu_of_process(pid);
  if (hooks.ended) hooks.ended();
  recorder.stop();
  const std::lock_guard lock((*taking)->shared.mutex);
  RecordingFacts& facts = (*taking)->shared.recording.facts;
  facts.duration_ns = ended - start;
  facts.cpu_hertz = (*taking)->opened.cpu_hertz;
  facts.wall_hertz = (*taking)->opened.wall_hertz;
  facts.source = recorder.source_words();
  const Recording& recording = (*taking)->shared.recording;
  Busyness busy = busyness_of(recording, by_our_ids(shares, dump),
                              pausing_frames(session->session->target().memory(), dump, recording));
  if (cpu_before && cpu_after) busy.cpu_ns = static_cast<std::uint64_t>((*cpu_after - *cpu_before).count());
  if (!cpu_after)  // it has ended: what was seen of it
    busy.cpu_ns = busy.samples *
                  ((*taking)->shared.recording.period_ns(facts.cpu_hertz != 0 ? SampleClock::cpu : SampleClock::wall));
  busy.notes = (*taking)->opened.notes;
  if (const auto use = process::quota_use(quotas_before, process::cpu_quotas(pid)); use && use->is_felt())
    busy.notes.insert(busy.notes.begin(), process::quota_words(*use));
  add_losses(**taking, busy);
  add_contained(*session, (*taking)->shared.recording, busy);
  if (hooks.done) hooks.done((*taking)->shared.recording, busy);
  return busy;
}

}  // namespace mixstack::why
