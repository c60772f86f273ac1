// LINK: mixstack_session mixstack_process_live
// Ten workers that walk captures of one .NET process at the same time, each on a thread of
// its own, against one that does the same work alone: walks per second, as a ratio. Needs the debuggees
// (tests/debuggees/build).
//   workers_bench [WORKERS]
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "engine/symbols/symbolizer.h"
#include "process/live/live_target.h"
#include "session/capture_walk.h"
#include "session/process_generation.h"
#include "session/worker.h"
#include "support/dotnet_process.h"

namespace {

using namespace mixstack;
using namespace std::chrono_literals;

constexpr auto kTime = 2s;

struct Shared {
  Target& target;
  const std::vector<Region>& regions;
  std::shared_ptr<unwind::UnwindTables> tables;
  std::shared_ptr<const session::ProcessGeneration> facts;
};

/// Walks all threads of a capture once, and from the begin on again and again. Answers frames.
std::size_t work(const Shared& shared, Capture& capture, std::barrier<>& begin, const std::atomic<bool>& is_over) {
  session::Worker worker({shared.target, {}, shared.tables, {ManagedProvider::descriptor, {}, {}}}, shared.facts);
  symbols::ElfSymbols elf(worker.modules(), [&](const std::string& p) { return shared.target.open_path(p); });
  session::CaptureWalk walk(capture, shared.target, worker, shared.regions, elf, {}, {});
  std::size_t frames = 0;
  for (const ThreadCapture& t : capture.threads) (void)walk.walk(t, UINT32_MAX);
  begin.arrive_and_wait();
  while (!is_over)
    for (const ThreadCapture& t : capture.threads) frames += walk.walk(t, UINT32_MAX).trace.frames.size();
  return frames;
}

/// Frames a second of as many workers as there are captures.
double rate(const Shared& shared, std::span<Capture> captures) {
  std::atomic<bool> is_over{false};
  std::atomic<std::size_t> frames{0};
  std::vector<std::thread> threads;
  std::barrier<> begin(static_cast<std::ptrdiff_t>(captures.size()) + 1);
  for (Capture& c : captures) threads.emplace_back([&] { frames += work(shared, c, begin, is_over); });
  begin.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kTime);
  is_over = true;
  for (std::thread& t : threads) t.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return static_cast<double>(frames) / took.count();
}

int run(unsigned pid, std::size_t count) {
  auto target = process::open_live(pid);
  if (!target) return 1;
  auto regions = (*target)->regions();
  if (!regions) return 1;
  const auto open = [&](const Region& r) { return (*target)->open_file(r); };
  auto facts = session::ProcessGeneration::read({**target, open, nullptr}, *regions, nullptr);
  const auto tables = std::make_shared<unwind::UnwindTables>();
  session::Worker first({**target, {}, tables, {ManagedProvider::descriptor, {}, {}}}, facts);
  CaptureRequest request;
  request.stop_timeout = 2s;
  request.roots = first.prepare_roots();
  std::vector<Capture> captures;
  while (captures.size() < count) {
    auto capture = (*target)->capture(request);
    if (!capture) return 1;
    captures.push_back(std::move(*capture));
  }
  const Shared shared{**target, *regions, tables, facts};
  const std::span<Capture> all(captures);
  (void)rate(shared, all.first(1));
  double best = 0;
  for (int i = 0; i < 3; i++) {
    const double alone = rate(shared, all.first(1)), together = rate(shared, all);
    std::printf("one worker %.2f million frames/s, %zu workers %.2f: %.2f times\n", alone / 1e6, count, together / 1e6,
                together / alone);
    best = std::max(best, together / alone);
  }
  std::printf("%zu workers on %u processors: %.2f times one worker\n", count, std::thread::hardware_concurrency(),
              best);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? static_cast<std::size_t>(std::max(1, std::atoi(argv[1]))) : 10;
  const test::DotnetProcess process("mixtures", "256");
  if (!process.ready()) {
    std::puts("the debuggees are not there: run tests/debuggees/build");
    return 0;
  }
  return run(process.pid(), count);
}
