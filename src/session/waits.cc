#include "session/waits.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <unordered_map>

#include "session/call_arguments.h"

namespace mixstack::session {
namespace {

/// Of a thread that was not captured: it may be younger than the capture. Ids of another pid namespace say nothing.
bool has_ended(const ProcessDump& dump, ThreadId tid) {
  const auto is_ours = [](const ThreadDump& t) { return t.ns_tid == t.tid; };
  if (!std::all_of(dump.threads.begin(), dump.threads.end(), is_ours)) return false;
  const std::string process = "/proc/" + std::to_string(dump.target.pid);
  return ::access((process + "/task/" + std::to_string(tid)).c_str(), F_OK) != 0 && errno == ENOENT &&
         ::access((process + "/task").c_str(), F_OK) == 0;
}

}  // namespace

std::vector<dotnet::objects::WaitFrame> frames_of(const ThreadDump& thread, const std::deque<SymbolInfo>& symbols) {
  std::vector<dotnet::objects::WaitFrame> frames;
  frames.reserve(thread.trace.frames.size());
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const Frame& f = thread.trace.frames[i];
    dotnet::objects::WaitFrame frame{f.sp, f.cfa, f.kind == FrameKind::managed, {}};
    const std::uint32_t symbol = i < thread.symbols.size() ? thread.symbols[i] : 0;
    if (symbol < symbols.size()) frame.method = symbols[symbol].name;
    frames.push_back(frame);
  }
  return frames;
}

void read_waits(ProcessDump& dump, const Capture& capture,
                std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes,
                const std::deque<SymbolInfo>& symbols) {
  if (capture.consistency == Consistency::not_stopped) return;  // records are of another time than stacks
  for (const auto& runtime : runtimes)
    if (const std::string why = runtime->why_no_waits(); !why.empty())
      dump.diagnoses.push_back({{ErrorCode::field_unavailable, 0, 0},
                                std::string(kWaitsSubject),
                                "what threads of " + runtime->summary().kind + " " + runtime->summary().version +
                                    " wait for is not known: " + why});
  const bool is_live = capture.frozen == nullptr;
  std::unordered_map<ThreadId, ThreadId> ours;  // by the id inside the target's pid namespace
  for (const ThreadDump& t : dump.threads) ours.emplace(t.ns_tid, t.tid);
  std::unordered_map<ThreadId, const ThreadCapture*> captured;
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured.emplace(t.tid, &t);
  for (ThreadDump& t : dump.threads) {
    if (!captured.contains(t.tid)) continue;
    for (const auto& runtime : runtimes) {
      const dotnet::ManagedThread* managed = runtime->thread(t.ns_tid);
      if (managed == nullptr) continue;
      const auto frames = frames_of(t, symbols);
      dotnet::objects::WaitingThread at{managed, &t.registers, frames};
      if (const auto call = t.syscall >= 0 ? arguments_in(t.registers) : std::nullopt) at.call = *call;
      ThreadWait wait = runtime->wait_of(at);
      if (wait.kind == WaitKind::none) continue;
      for (std::uint32_t& owner : wait.owners) {
        if (const auto it = ours.find(owner); it != ours.end())
          owner = it->second;
        else if (is_live && has_ended(dump, owner))
          wait.owner_has_ended = wait.kind == WaitKind::monitor || wait.kind == WaitKind::lock;
      }
      if (wait.owner_has_ended) wait.owners.clear();
      t.wait = std::move(wait);
    }
  }
}

}  // namespace mixstack::session
