// One thread of a dump as text.
#pragma once

#include <cstdio>
#include <string>

#include "mixstack/dump.h"

namespace examples {

inline const mixstack::SymbolInfo& symbol_of(const mixstack::ProcessDump& dump, const mixstack::ThreadDump& thread,
                                             std::size_t frame) {
  return dump.symbols[frame < thread.symbols.size() ? thread.symbols[frame] : 0];
}

/// "name", or "module+0x12" where nobody knows a name.
inline std::string text_of(const mixstack::SymbolInfo& symbol) {
  if (!symbol.name.empty()) return symbol.name;
  if (symbol.module.empty()) return "?";
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(symbol.offset));
  return symbol.module + offset;
}

inline void print_stack(const mixstack::ProcessDump& dump, const mixstack::ThreadDump& thread) {
  std::printf("thread %u %s\n", thread.tid, thread.comm.c_str());
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const mixstack::Frame& frame = thread.trace.frames[i];
    const char kind = frame.kind == mixstack::FrameKind::managed ? 'M' : 'N';
    // What is not certain must not look certain.
    std::printf("  #%-2zu %c %s%s\n", i, kind, text_of(symbol_of(dump, thread, i)).c_str(),
                frame.trust == mixstack::Trust::certain ? "" : " (not certain)");
  }
  const auto stop = thread.captured ? thread.trace.stop : mixstack::StopReason::not_captured;
  if (stop != mixstack::StopReason::end_of_stack)
    std::printf("  --- %.*s\n", static_cast<int>(to_string(stop).size()), to_string(stop).data());
}

}  // namespace examples
