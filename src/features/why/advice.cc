#include "features/why/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace mixstack::why {
namespace {

struct Advice {
  std::string_view command;  ///< after "mixstack"; {} is the pid
  std::string_view change;
};

Advice advice_for(const SlowCause& cause) {
  switch (cause.kind) {
    case SlowKind::throttled:
      return {"record -p {} -m cpu -d 10 -o cpu.html", "raise the quota, or use fewer threads and less of a processor"};
    case SlowKind::crowded:
      return {"ps", "move the other processes away, or give this one processors of its own"};
    case SlowKind::contended:
      return {"record -p {} -d 10 --idle -o wait.html",
              "do less under the lock: no waiting, no input or output; or use more locks, each for a part"};
    case SlowKind::collections:
      if (!cause.title.empty())
        return {"record -p {} -d 10 -o gc.html", "remove the calls of GC.Collect: the collector begins by itself"};
      return {"record -p {} -m cpu -d 10 -o gc.html",
              "allocate less there: keep and use buffers again (ArrayPool, Span), cut large objects in pieces"};
    case SlowKind::memory:
      return {"memory {} --types",
              "let go of what is no longer needed: limits for caches, handlers taken off, Dispose"};
    case SlowKind::exceptions:
      return {"record -p {} -m cpu -d 10 -o cpu.html",
              "test before instead of catching: TryParse, TryGetValue, a check of the state"};
    case SlowKind::writes:
      return {"record -p {} -m cpu --kernel -d 10 -o cpu.html",
              "write through a buffer: BufferedStream, a larger bufferSize"};
    case SlowKind::disk:
      return {"record -p {} -d 10 --idle -o wait.html",
              "flush once for several changes, and not in workers of the pool"};
    case SlowKind::children:
      return {"ps", "start the program once and keep it, or do its work with a library"};
    case SlowKind::compiling:
      return {"record -p {} -m cpu -d 10 -o cpu.html",
              "keep compiled expressions and use them again, make fewer instantiations; ReadyToRun for the start"};
    case SlowKind::queue:
      return {"record -p {} -d 10 --idle --async -o wait.html",
              "await there instead of waiting; or give work that must wait threads of its own (LongRunning)"};
    case SlowKind::page_faults:
      return {"record -p {} -m cpu --kernel -d 10 -o cpu.html",
              "use memory again instead of giving it back and asking anew"};
  }
  return {};
}

bool is_of_the_machine(const SlowCause& cause) {
  return cause.kind == SlowKind::throttled || cause.kind == SlowKind::crowded;
}

}  // namespace

void sort_causes(std::vector<SlowCause>& causes) {
  const auto rank = [](const SlowCause& c) { return is_of_the_machine(c) ? static_cast<int>(c.kind) : 2; };
  std::stable_sort(causes.begin(), causes.end(), [&](const SlowCause& a, const SlowCause& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.share > b.share;
  });
}

void add_advice(std::uint32_t pid, std::vector<SlowCause>& causes) {
  for (SlowCause& cause : causes) {
    const Advice advice = advice_for(cause);
    if (cause.next.empty() && !advice.command.empty())
      cause.next = fmt::format("mixstack {}", fmt::format(fmt::runtime(advice.command), pid));
    if (cause.change.empty()) cause.change = advice.change;
  }
}

}  // namespace mixstack::why
