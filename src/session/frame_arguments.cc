#include "session/frame_arguments.h"

#include <unordered_map>
#include <vector>

#include "dotnet/heap/argument_values.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kMostFrames = 1 << 14;   // of all threads
constexpr std::size_t kMostOfThread = 1 << 9;  // innermost ones

/// Frames of one runtime, with the thread of each.
struct Asked {
  std::vector<dotnet::objects::ArgumentFrame> frames;
  struct Owner {
    ThreadDump* thread = nullptr;
    std::uint32_t frame = 0;
  };
  std::vector<Owner> owners;
};

void ask_for(ThreadDump& thread, AddressRange steady, Asked& asked) {
  std::size_t left = std::min(kMostOfThread, kMostFrames - std::min(kMostFrames, asked.frames.size()));
  for (std::uint32_t i = 0; i < thread.trace.frames.size() && left > 0; i++) {
    const Frame& frame = thread.trace.frames[i];
    if (frame.kind != FrameKind::managed || frame.method == 0) continue;
    const bool is_kept = frame.registers != 0 && frame.registers <= thread.trace.registers.size();
    asked.frames.push_back({&frame, is_kept ? &thread.trace.registers[frame.registers - 1] : nullptr, steady});
    asked.owners.push_back({&thread, i});
    left--;
  }
}

}  // namespace

void read_arguments(ProcessDump& dump, const Capture& capture,
                    std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, bool data) {
  if (capture.consistency == Consistency::not_stopped) return;  // registers are of another time than memory
  std::unordered_map<ThreadId, const ThreadCapture*> captured;
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured.emplace(t.tid, &t);
  for (const auto& runtime : runtimes) {
    Asked asked;
    for (ThreadDump& t : dump.threads) {
      const auto of = captured.find(t.tid);
      if (of == captured.end() || runtime->thread(t.ns_tid) == nullptr) continue;
      // The contents of a core have not changed since.
      ask_for(t, capture.frozen != nullptr ? AddressRange{0, ~Address{0}} : of->second->stack.range(), asked);
    }
    auto values = runtime->arguments(asked.frames, data);
    for (std::size_t i = 0; i < values.size() && i < asked.owners.size(); i++)
      if (values[i]) asked.owners[i].thread->arguments.push_back({asked.owners[i].frame, std::move(*values[i])});
  }
}

}  // namespace mixstack::session
