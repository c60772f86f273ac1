// The async methods that await what a captured thread runs.
#include <optional>

#include "dotnet/async/waiting_thread.h"
#include "mixstack/walker.h"
#include "session/walker_implementation.h"

namespace mixstack {

std::optional<AsyncCallersOfThread> Walker::async_callers(const ThreadCapture& thread, std::span<const Frame> frames) {
  const auto owner = implementation_->walk_of(thread).owner_of(thread);
  if (owner.thread == nullptr) return std::nullopt;
  Symbolizer& names = symbolizer();
  std::vector<dotnet::objects::WaitFrame> asked;
  asked.reserve(frames.size());
  std::optional<AsyncCallersOfThread> callers;
  Address method = 0;  // of the managed frame before
  for (const Frame& f : frames) {
    asked.push_back({f.sp, f.cfa, f.kind == FrameKind::managed, {}});
    dotnet::objects::WaitFrame& frame = asked.back();
    if (!frame.is_managed) continue;
    frame.method = names.symbols()[names.name(f)].name;
    if (!callers && dotnet::objects::runs_async_methods(frame)) callers.emplace().method = method;
    if (!dotnet::objects::restores_context(frame)) method = f.method;
  }
  if (!callers) return std::nullopt;
  const MemorySlice* copied =
      implementation_->capture.consistency == Consistency::not_stopped ? &thread.stack : nullptr;
  auto found = owner.runtime->async_callers({owner.thread, &thread.registers, asked, {}, false, copied});
  callers->are_told = found.has_value();
  for (auto& caller : found.value_or(std::vector<dotnet::objects::LogicalCaller>())) {
    SymbolInfo& symbol = callers->methods.emplace_back();
    if (caller.ip == 0) {
      symbol.name = std::move(caller.method);
      symbol.module = std::move(caller.module);
    } else {
      Frame frame;
      frame.pc = CodeAddress::exact(caller.ip);
      frame.kind = FrameKind::managed;
      frame.method = caller.method_desc;
      frame.method_start = caller.method_start;
      symbol = name(frame);
    }
  }
  return callers;
}

}  // namespace mixstack
