// LINK: mixstack_session mixstack_target
// Walk and naming of a stopped .NET process, without the stop: ns per frame, cold (nothing read of the process yet) and
// warm (the same capture again). Needs the debuggees (tests/debuggees/build)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "memory/cached_memory.h"
#include "session/capture_walk.h"
#include "support/dotnet_process.h"
#include "symbolize/symbolizer.h"
#include "target/live/live_target.h"

namespace {

using namespace mixstack;
using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Round {
  std::size_t frames = 0;
  double walk_ns = 0, name_ns = 0;
};

Round walk_and_name(session::CaptureWalk& walk, const Capture& capture, std::vector<NameProvider*> providers) {
  Round round;
  std::vector<ThreadDump> dumps;
  dumps.reserve(capture.threads.size());
  auto start = Clock::now();
  for (const ThreadCapture& t : capture.threads) dumps.push_back(walk.walk(t));
  round.walk_ns = ns_since(start);
  start = Clock::now();
  symbolize::Symbolizer symbolizer(std::move(providers));
  for (const ThreadDump& d : dumps)
    for (const Frame& f : d.trace.frames) round.frames += symbolizer.name(f) != 0;
  round.name_ns = ns_since(start);
  return round;
}

void print(const char* what, const Round& r) {
  const auto n = static_cast<double>(std::max<std::size_t>(r.frames, 1));
  std::printf("%-6s %6zu frames   walk %7.1f ns/frame   naming %7.1f ns/frame   both %7.1f ns/frame\n", what, r.frames,
              r.walk_ns / n, r.name_ns / n, (r.walk_ns + r.name_ns) / n);
}

int run(unsigned pid) {
  auto target = target::open_live(pid);
  if (!target) return 1;
  auto regions = (*target)->regions();
  if (!regions) return 1;
  const auto open = [&](const Region& r) { return (*target)->open_file(r); };
  const auto facts = session::ProcessFacts::read({**target, open, nullptr}, *regions, nullptr);
  session::Worker worker(
      {**target, {}, std::make_shared<unwind::UnwindTables>(), {ManagedProvider::descriptor, {}, {}}}, facts);
  const auto runtimes = worker.runtimes();
  CaptureRequest request;
  request.stop_timeout = std::chrono::seconds(2);
  request.roots = worker.prepare_roots();
  auto capture = (*target)->capture(request);
  if (!capture || runtimes.empty()) return 1;
  symbolize::ElfSymbols elf(worker.modules(), [&](const std::string& p) { return (*target)->open_path(p); });
  session::CaptureWalk walk(*capture, **target, worker, *regions, elf, {}, {});
  const std::vector<NameProvider*> providers{&runtimes.front()->symbols(), &elf};
  print("cold", walk_and_name(walk, *capture, providers));
  Round best;
  for (int i = 0; i < 20; i++) {
    const Round r = walk_and_name(walk, *capture, providers);
    if (best.frames == 0 || r.walk_ns + r.name_ns < best.walk_ns + best.name_ns) best = r;
  }
  print("warm", best);
  return 0;
}

}  // namespace

int main() {
  const std::string scenario = "sleepers";
  const test::DotnetProcess process(scenario);
  if (!process.ready()) {
    std::puts("the debuggees are not there: run tests/debuggees/build");
    return 0;
  }
  return run(process.pid());
}
