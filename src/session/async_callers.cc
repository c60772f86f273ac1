#include "session/async_callers.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace mixstack::session {

void ThreadAsyncCallers::find(const ProcessDump& dump, const Capture& capture,
                              std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes,
                              const WaitFrames& frames, Symbolizer& symbolizer) {
  if (capture.consistency == Consistency::not_stopped) return;  // objects are of another time than stacks
  std::unordered_set<ThreadId> captured;
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured.insert(t.tid);
  for (std::size_t i = 0; i < std::min(frames.size(), dump.threads.size()); i++) {
    const ThreadDump& t = dump.threads[i];
    if (!captured.contains(t.tid)) continue;
    for (const auto& runtime : runtimes) {
      const dotnet::ManagedThread* managed = runtime->thread(t.ns_tid);
      if (managed == nullptr) continue;
      auto callers = runtime->async_callers({managed, &t.registers, frames[i]});
      if (!callers) continue;
      for (auto& caller : *callers) {
        Frame frame{.pc = CodeAddress::exact(caller.ip), .kind = FrameKind::managed};
        frame.method = caller.method_desc;
        frame.method_start = caller.method_start;
        const std::uint32_t symbol = caller.ip == 0 ? 0 : symbolizer.name(frame);
        found_.push_back({i, std::move(caller), frame, symbol});
      }
    }
  }
}

/// A method with a state machine has a name, but no address that it goes on at.
void ThreadAsyncCallers::apply(ProcessDump& dump) {
  std::map<std::string, std::uint32_t> made;
  for (Found& f : found_) {
    if (f.caller.ip == 0) {
      const auto [known, is_new] = made.try_emplace(f.caller.method, static_cast<std::uint32_t>(dump.symbols.size()));
      if (is_new) {
        SymbolInfo symbol;
        symbol.name = std::move(f.caller.method);
        symbol.module = std::move(f.caller.module);
        dump.symbols.push_back(std::move(symbol));
      }
      f.symbol = known->second;
    }
    dump.threads[f.thread].async_callers.push_back({f.frame, f.symbol, f.caller.box, f.caller.state});
  }
  found_.clear();
}

}  // namespace mixstack::session
