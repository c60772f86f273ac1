// LINK: mixstack_session mixstack_process_live
// Walk and naming of a stopped .NET process of 256 different mixed stacks, without the stop:
// ns per frame, cold (nothing read of the process yet) and warm (the same capture again), whole and for addresses
// alone. Needs the debuggees (tests/debuggees/build).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/memory/cached_memory.h"
#include "engine/symbols/symbolizer.h"
#include "process/live/live_target.h"
#include "session/capture_walk.h"
#include "support/dotnet_process.h"

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

/// With `again` names are asked for so many times more, and only these count.
Round walk_and_name(session::CaptureWalk& walk, const Capture& capture, std::vector<NameProvider*> providers,
                    int again = 0) {
  Round round;
  std::vector<ThreadDump> dumps;
  dumps.reserve(capture.threads.size());
  auto start = Clock::now();
  for (const ThreadCapture& t : capture.threads) dumps.push_back(walk.walk(t));
  round.walk_ns = ns_since(start);
  start = Clock::now();
  symbols::Symbolizer symbolizer(std::move(providers));
  for (int i = 0; i <= again; i++) {
    if (i == 1) start = Clock::now();
    if (i <= 1) round.frames = 0;
    for (const ThreadDump& d : dumps)
      for (const Frame& f : d.trace.frames) round.frames += symbolizer.name(f) != 0;
  }
  round.name_ns = ns_since(start);
  return round;
}

/// Addresses alone, as samplers want them: of all stacks in turn, and of one again and again.
double addresses_ns(session::CaptureWalk& walk, std::span<const ThreadCapture> threads) {
  static std::array<CodeAddress, 1024> out;
  double best = 0;
  for (int round = 0; round < 50; round++) {
    std::size_t frames = 0;
    const auto start = Clock::now();
    for (const ThreadCapture& t : threads) frames += walk.addresses(t, out).count;
    const double each = ns_since(start) / static_cast<double>(std::max<std::size_t>(frames, 1));
    best = best == 0 ? each : std::min(best, each);
  }
  return best;
}

void print(const char* what, const Round& r) {
  const auto n = static_cast<double>(std::max<std::size_t>(r.frames, 1));
  std::printf("%-6s %6zu frames   walk %7.1f ns/frame   naming %7.1f ns/frame   both %7.1f ns/frame\n", what, r.frames,
              r.walk_ns / n, r.name_ns / n, (r.walk_ns + r.name_ns) / n);
}

int run(unsigned pid) {
  auto target = process::open_live(pid);
  if (!target) return 1;
  auto regions = (*target)->regions();
  if (!regions) return 1;
  const auto open = [&](const Region& r) { return (*target)->open_file(r); };
  const auto facts = session::ProcessGeneration::read({**target, open, nullptr}, *regions, nullptr);
  session::Worker worker(
      {**target, {}, std::make_shared<unwind::UnwindTables>(), {ManagedProvider::descriptor, {}, {}}}, facts);
  const auto runtimes = worker.runtimes();
  CaptureRequest request;
  request.stop_timeout = std::chrono::seconds(2);
  request.roots = worker.prepare_roots();
  auto capture = (*target)->capture(request);
  if (!capture || runtimes.empty()) return 1;
  symbols::ElfSymbols elf(worker.modules(), [&](const std::string& p) { return (*target)->open_path(p); });
  session::CaptureWalk walk(*capture, **target, worker, *regions, elf, {}, {});
  const std::vector<NameProvider*> providers{runtimes.front()->names(), &elf};
  print("cold", walk_and_name(walk, *capture, providers));
  Round best;
  for (int i = 0; i < 20; i++) {
    const Round r = walk_and_name(walk, *capture, providers);
    if (best.frames == 0 || r.walk_ns + r.name_ns < best.walk_ns + best.name_ns) best = r;
  }
  print("warm", best);
  std::vector<ThreadCapture> same(capture->threads.size(), capture->threads.back());
  for (const ThreadCapture& t : capture->threads)
    if (t.stack.bytes.size() > same.front().stack.bytes.size()) same.assign(same.size(), t);
  std::printf("addresses alone: %.1f ns/frame over %zu stacks, %.1f of one again and again\n",
              addresses_ns(walk, capture->threads), capture->threads.size(), addresses_ns(walk, same));
  Round named = walk_and_name(walk, *capture, providers, 10);
  std::printf("names of frames seen before: %.1f ns/frame\n",
              named.name_ns / static_cast<double>(std::max<std::size_t>(named.frames, 1)));
  return 0;
}

}  // namespace

int main() {
  const test::DotnetProcess process("mixtures", "256");
  if (!process.ready()) {
    std::puts("the debuggees are not there: run tests/debuggees/build");
    return 0;
  }
  return run(process.pid());
}
