#include "session/waits.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/arch/call_arguments.h"
#include "base/arch/pause.h"
#include "dotnet/async/waiting_thread.h"

namespace mixstack::session {
namespace {

/// For a thread that was not captured: it may be younger than the capture. Ids of another pid namespace say nothing.
bool has_ended(const ProcessDump& dump, ThreadId tid) {
  const auto is_ours = [](const ThreadDump& t) { return t.ns_tid == t.tid; };
  if (!std::all_of(dump.threads.begin(), dump.threads.end(), is_ours)) return false;
  const std::string process = "/proc/" + std::to_string(dump.target.pid);
  return ::access((process + "/task/" + std::to_string(tid)).c_str(), F_OK) != 0 && errno == ENOENT &&
         ::access((process + "/task").c_str(), F_OK) == 0;
}

using dotnet::objects::WaitFrame;
using dotnet::objects::WaitingThread;
using Ids = std::unordered_map<ThreadId, ThreadId>;  // by the id inside the target's pid namespace

ThreadWait with_our_ids(const ProcessDump& dump, ThreadWait wait, const Ids& ours, bool is_live) {
  for (std::uint32_t& owner : wait.owners) {
    if (const auto it = ours.find(owner); it != ours.end())
      owner = it->second;
    else if (is_live && has_ended(dump, owner))
      wait.owner_has_ended = wait.kind == WaitKind::monitor || wait.kind == WaitKind::lock;
  }
  if (wait.owner_has_ended) wait.owners.clear();
  return wait;
}

/// Whether a wait for a handle may time out: the futex call's fourth argument is a time. Without the call: it may.
bool may_end_by_time(const ThreadDump& thread) {
  const auto call = thread.syscall >= 0 ? arch::arguments_in(thread.registers) : std::nullopt;
  return !call || (*call)[3] != 0;
}

/// Thread.SpinWait is inlined, and the runtime's function that it calls has no name where the runtime has no symbols.
bool is_pausing(const ThreadDump& thread, std::span<const WaitFrame> frames, const MemoryReader& memory) {
  if (thread.syscall >= 0 || frames.size() < 2 || frames[0].is_managed || !frames[1].is_managed) return false;
  std::array<std::byte, 2 * arch::kPauseReach> code{};
  const Address begin = thread.registers.pc() - arch::kPauseReach;
  return memory.read_exact(begin, code) && arch::pauses(thread.registers.arch(), code);
}

/// Threads that wait for the end of such work are blocked by the threads that do it.
void add_ends_of_work(ProcessDump& dump, dotnet::ManagedRuntime& runtime, std::span<const WaitingThread> threads,
                      const Ids& ours) {
  const auto ends = runtime.ends_of_work(threads);
  const auto add = [&](Address object, std::vector<std::uint32_t>& owners) {
    const auto at = ends.find(object);
    if (at == ends.end()) return;
    for (const std::uint64_t id : at->second)
      if (const auto it = ours.find(static_cast<ThreadId>(id)); it != ours.end()) owners.push_back(it->second);
  };
  for (ThreadDump& t : dump.threads) {
    if (!t.wait || !t.wait->owners.empty()) continue;
    ThreadWait& wait = *t.wait;
    if (wait.kind == WaitKind::wait_handle || wait.kind == WaitKind::task) add(wait.object.address, wait.owners);
    if (wait.kind == WaitKind::all_tasks)
      for (const WaitedObject& other : wait.others) add(other.address, wait.owners);
    if (wait.kind == WaitKind::wait_handle && !wait.owners.empty()) wait.gives_up = may_end_by_time(t);
  }
}

void tell_of_missing_objects(ProcessDump& dump, const dotnet::ManagedRuntime& runtime) {
  const std::size_t count = runtime.waits_without_objects();
  if (count == 0 || dump.target.core_path.empty()) return;
  dump.diagnoses.push_back({{ErrorCode::field_unavailable, 0, 0},
                            std::string(kWaitsSubject),
                            (count == 1 ? "what a thread of " : "what " + std::to_string(count) + " threads of ") +
                                runtime.summary().kind + (count == 1 ? " waits" : " wait") +
                                " for is not known: the object is not in the core, or was not found"});
}

}  // namespace

WaitFrames wait_frames(const ProcessDump& dump, const std::deque<SymbolInfo>& symbols) {
  WaitFrames all(dump.threads.size());
  for (std::size_t t = 0; t < all.size(); t++) {
    const ThreadDump& thread = dump.threads[t];
    all[t].reserve(thread.trace.frames.size());
    for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
      const Frame& f = thread.trace.frames[i];
      WaitFrame frame{f.sp, f.cfa, f.kind == FrameKind::managed, {}};
      const std::uint32_t symbol = i < thread.symbols.size() ? thread.symbols[i] : 0;
      if (symbol < symbols.size()) frame.method = symbols[symbol].name;
      all[t].push_back(frame);
    }
  }
  return all;
}

void read_waits(ProcessDump& dump, const Capture& capture, const MemoryReader& memory,
                std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, const WaitFrames& frames) {
  if (capture.consistency == Consistency::not_stopped) return;  // records are of another time than stacks
  for (const auto& runtime : runtimes) {
    const std::string why = runtime->why_no_waits();
    if (why.empty()) continue;
    std::string text = "what threads of " + runtime->summary().kind;
    if (const std::string& version = runtime->summary().version; !version.empty()) text += " " + version;
    dump.diagnoses.push_back(
        {{ErrorCode::field_unavailable, 0, 0}, std::string(kWaitsSubject), text + " wait for is not known: " + why});
  }
  Ids ours;
  for (const ThreadDump& t : dump.threads) ours.emplace(t.ns_tid, t.tid);
  std::unordered_set<ThreadId> captured;
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured.insert(t.tid);
  for (const auto& runtime : runtimes) {
    std::vector<WaitingThread> working;
    for (std::size_t i = 0; i < std::min(frames.size(), dump.threads.size()); i++) {
      ThreadDump& t = dump.threads[i];
      const dotnet::ManagedThread* managed = captured.contains(t.tid) ? runtime->thread(t.ns_tid) : nullptr;
      if (managed == nullptr) continue;
      WaitingThread at{managed, &t.registers, frames[i]};
      if (const auto call = t.syscall >= 0 ? arch::arguments_in(t.registers) : std::nullopt) at.call = *call;
      at.is_pausing = is_pausing(t, frames[i], memory);
      if (ThreadWait wait = runtime->wait_of(at); wait.kind != WaitKind::none)
        t.wait = with_our_ids(dump, std::move(wait), ours, capture.frozen == nullptr);
      if (dotnet::objects::may_end_work(frames[i])) working.push_back({managed, &t.registers, frames[i]});
    }
    if (!working.empty()) add_ends_of_work(dump, *runtime, working, ours);
    tell_of_missing_objects(dump, *runtime);
  }
}

}  // namespace mixstack::session
