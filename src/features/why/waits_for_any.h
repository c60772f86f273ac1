// Threads that any of several may let go on: none of these holds them up alone.
#pragma once

#include <algorithm>

#include "base/words/wait_kinds.h"
#include "mixstack/dump.h"

namespace mixstack::why {

[[nodiscard]] inline bool waits_for_any(const ProcessDump& dump, ThreadId tid) {
  return std::any_of(dump.threads.begin(), dump.threads.end(), [tid](const ThreadDump& t) {
    return t.tid == tid && t.wait && facts_of(t.wait->kind).is_for_any;
  });
}

}  // namespace mixstack::why
