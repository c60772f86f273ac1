// One thread of a dump as text.
#pragma once

#include <cstdio>

#include "mixstack/report.h"

namespace examples {

inline void print_stack(const mixstack::ProcessDump& dump, const mixstack::ThreadDump& thread) {
  std::printf("thread %u %s\n", thread.tid, thread.comm.c_str());
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const mixstack::Frame& frame = thread.trace.frames[i];
    const char kind = frame.kind == mixstack::FrameKind::managed ? 'M' : 'N';
    // Says what is not certain, too.
    std::printf("  #%-2zu %c %s\n", i, kind, mixstack::frame_text(dump, thread, i).c_str());
  }
  const auto stop = thread.captured ? thread.trace.stop : mixstack::StopReason::not_captured;
  if (stop != mixstack::StopReason::end_of_stack)
    std::printf("  --- %.*s\n", static_cast<int>(describe(stop).size()), describe(stop).data());
}

}  // namespace examples
