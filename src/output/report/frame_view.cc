#include "output/report/frame_view.h"

#include <fmt/format.h>

#include <algorithm>

namespace mixstack::report {

const SymbolInfo& symbol_of(const ProcessDump& dump, const ThreadDump& thread, std::size_t frame) {
  static const SymbolInfo unnamed;
  if (frame >= thread.symbols.size() || thread.symbols[frame] >= dump.symbols.size()) return unnamed;
  const std::uint32_t own = own_function(dump.symbols, thread.symbols[frame]);
  return own < dump.symbols.size() ? dump.symbols[own] : unnamed;
}

std::vector<std::uint32_t> inlined_of(const ProcessDump& dump, const ThreadDump& thread, std::size_t frame) {
  if (frame >= thread.symbols.size() || thread.symbols[frame] >= dump.symbols.size() ||
      dump.symbols[thread.symbols[frame]].inlined_into == 0)
    return {};
  std::vector<std::uint32_t> all = logical_frames(dump.symbols, thread.symbols[frame]);
  all.pop_back();
  return all;
}

const FrameArguments* arguments_of(const ThreadDump& thread, std::size_t frame) {
  const auto at = std::lower_bound(thread.arguments.begin(), thread.arguments.end(), frame,
                                   [](const FrameArguments& a, std::size_t f) { return a.frame < f; });
  return at != thread.arguments.end() && at->frame == frame ? &*at : nullptr;
}

std::string_view inlining_words(Inlining inlining) {
  return inlining == Inlining::inferred ? " {inlined, inferred}" : " {inlined}";
}

std::string shown_name(const Frame& frame, const SymbolInfo& symbol, bool raw) {
  if (raw && !symbol.raw_name.empty()) return symbol.raw_name;
  if (!symbol.name.empty()) return symbol.name;
  if (!symbol.module.empty()) return fmt::format("{}+0x{:x}", symbol.module, symbol.offset);
  return fmt::format("0x{:x}", frame.pc.raw());
}

std::uint64_t module_offset_of_ip(const Frame& frame) {
  return frame.module_offset + (frame.pc.raw() - frame.pc.lookup());
}

std::string_view kind_name(FrameKind kind) {
  if (kind == FrameKind::managed) return "managed";
  if (kind == FrameKind::runtime_frame || kind == FrameKind::runtime_stub) return "runtime";
  return "native";
}

bool is_shown(const Frame& frame, const ReportOptions& options) {
  return !options.managed_only || frame.kind == FrameKind::managed;
}

bool is_cut(const ThreadDump& thread) { return !thread.captured || thread.trace.stop != StopReason::end_of_stack; }

}  // namespace mixstack::report
