// Answers of `mixstack why` for tests of its page: made up, and of which it is known what the page must show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mixstack/busy.h"
#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::web_test {

struct WhyAnswer {
  ProcessDump dump;
  std::vector<Verdict> verdicts;
  std::optional<Busyness> busy;
};

/// deadlock: two threads and who waits behind them; ring: 500 threads; hostile: names that would be markup; async:
/// chains, a pool, timers; busy: nothing is stuck; none: a process without threads that wait. Nothing: no such one.
[[nodiscard]] std::optional<WhyAnswer> why_answer(const std::string& kind);

}  // namespace mixstack::web_test
