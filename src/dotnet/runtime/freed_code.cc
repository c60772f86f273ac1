#include "dotnet/runtime/freed_code.h"

#include <algorithm>

namespace mixstack::dotnet {
namespace {

constexpr std::string_view kFreed = "freed while named", kMayBeFreed = "may have been freed while named";

const ThreadCapture* capture_of(const Capture& capture, ThreadId tid) {
  const auto same = [tid](const ThreadCapture& t) { return t.tid == tid; };
  // The newest capture of a thread is the one that was walked.
  for (auto late = capture.late.rbegin(); late != capture.late.rend(); ++late)
    if (const auto found = std::find_if(late->threads.begin(), late->threads.end(), same); found != late->threads.end())
      return &*found;
  const auto found = std::find_if(capture.threads.begin(), capture.threads.end(), same);
  return found == capture.threads.end() ? nullptr : &*found;
}

/// Whether the copied bytes of a stack below `end` are still there.
bool is_unchanged(const ThreadCapture& thread, Address end, const MemoryReader& now) {
  const auto range = thread.stack.range();
  if (!thread.captured || range.empty() || end <= range.begin) return false;
  const auto size = static_cast<std::size_t>(std::min(end, range.end) - range.begin);
  std::vector<std::byte> bytes(size);
  return now.read_exact(range.begin, bytes) && std::equal(bytes.begin(), bytes.end(), thread.stack.bytes.begin());
}

/// A waiting finalizer thread has its deadline, or the object it waits for, on its stack; another round changes the
/// bytes.
bool has_finalizer_run(const Capture& capture, std::uint64_t os_id, const MemoryReader& now) {
  for (const ThreadCapture& t : capture.threads)
    if (os_id != 0 && t.ns_tid == os_id) return t.syscall < 0 || !is_unchanged(t, t.stack.range().end, now);
  return true;
}

void mark(ProcessDump& dump, ThreadDump& thread, std::size_t index, std::string_view note) {
  auto& frames = thread.trace.frames;
  for (std::size_t i = index; i < std::min(index + 2, frames.size()); i++)
    frames[i].trust = std::max(frames[i].trust, Trust::inferred);
  if (index >= thread.symbols.size()) return;
  // A symbol of its own, because the same code may be safely alive on another stack.
  SymbolInfo symbol = dump.symbols[own_function(dump.symbols, thread.symbols[index])];
  symbol.note = note;
  thread.symbols[index] = static_cast<std::uint32_t>(dump.symbols.size());
  dump.symbols.push_back(std::move(symbol));
}

}  // namespace

std::vector<FreedFrame> find_freed_code(const ProcessDump& dump, const Capture& capture, const FreeableCode& code,
                                        const MemoryReader& now) {
  std::vector<FreedFrame> doubts, freed;
  for (std::size_t t = 0; t < dump.threads.size(); t++) {
    const auto& frames = dump.threads[t].trace.frames;
    for (std::size_t f = 0; f < frames.size(); f++)
      if (frames[f].kind == FrameKind::managed && code.may_be_freed(frames[f])) doubts.push_back({t, f, {}});
  }
  if (doubts.empty() || !has_finalizer_run(capture, code.finalizer_os_id, now)) return freed;
  for (const FreedFrame& d : doubts) {
    const ThreadDump& thread = dump.threads[d.thread];
    const Frame& frame = thread.trace.frames[d.frame];
    const ThreadCapture* copied = capture_of(capture, thread.tid);
    if (copied != nullptr && frame.cfa != 0 && is_unchanged(*copied, frame.cfa, now)) continue;
    freed.push_back({d.thread, d.frame, code.is_same(frame) ? kMayBeFreed : kFreed});
  }
  return freed;
}

void mark_freed_code(ProcessDump& dump, std::span<const FreedFrame> freed) {
  for (const FreedFrame& f : freed) mark(dump, dump.threads[f.thread], f.frame, f.note);
}

}  // namespace mixstack::dotnet
