// LINK: mixstack_session
// CPU of the first and of later dumps of one Session, walk and names included, against a
// round of bare system calls that stops the same process and copies its stacks; and what the kernel's facts of each
// thread (DumpOptions::facts) add.
//   second_dump_bench [PID [ROUNDS]]     default: a .NET process of 100 sleeping threads, 100 rounds
#include <sys/resource.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>

#include "mixstack/session.h"
#include "pause/stop_floor.h"
#include "support/dotnet_process.h"

namespace {

std::atomic<std::size_t> allocations{0};

}  // namespace

// NOLINTBEGIN: every allocation of the program is counted.
void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  std::abort();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
// NOLINTEND

namespace {

using namespace mixstack;

double cpu_ms(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

double process_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

int run(std::uint32_t pid, int rounds) {
  const double start = process_ms();
  auto session = Session::open_process(pid);
  if (!session) return 1;
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(2);
  options.facts = false;
  std::vector<double> outside, inside, made, with_facts;
  std::size_t threads = 0, frames = 0;
  double first = 0;
  for (int i = 0; i <= rounds; i++) {
    const double own = process_ms(), stopped = cpu_ms(RUSAGE_CHILDREN);
    const std::size_t allocated = allocations;
    auto dump = (*session)->dump(options);
    if (!dump) return 1;
    if (i == 0) {
      first = process_ms() - start;
      threads = dump->threads.size();
      for (const ThreadDump& t : dump->threads) frames += t.trace.frames.size();
      continue;
    }
    outside.push_back(process_ms() - own);
    made.push_back(static_cast<double>(allocations - allocated));
    inside.push_back(cpu_ms(RUSAGE_CHILDREN) - stopped);
    options.facts = true;
    const double again = process_ms();
    if (!(*session)->dump(options)) return 1;
    with_facts.push_back(process_ms() - again);
    options.facts = false;
  }
  pause_bench::StopFloor floor(static_cast<pid_t>(pid), 16 << 10);
  std::vector<double> bare;
  for (int i = 0; i < rounds / 2; i++) {
    const double before = process_ms();
    (void)floor.stop_once();
    bare.push_back(process_ms() - before);
  }
  std::printf(
      "%zu threads, %zu frames: first %.2f ms of CPU with opening; later: outside the stop %.2f (%.0f ns a frame), "
      "the tracer %.2f\n",
      threads, frames, first, median(outside), median(outside) * 1e6 / static_cast<double>(frames), median(inside));
  std::printf("with the kernel's facts of each thread: outside the stop %.2f\n", median(with_facts));
  std::printf("bare stop and copy %.2f ms of CPU; all of a later dump / bare: %.2f\n", median(bare),
              (median(outside) + median(inside)) / median(bare));
  std::printf("allocations of a later dump: %.0f, %.1f a thread, %.2f a frame\n", median(made),
              median(made) / static_cast<double>(threads), median(made) / static_cast<double>(frames));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 100;
  if (argc > 1) return run(static_cast<std::uint32_t>(std::atoi(argv[1])), rounds);
  const test::DotnetProcess process("sleepers", "100");
  if (!process.ready()) {
    std::puts("the debuggees are not there: run tests/debuggees/build");
    return 0;
  }
  return run(process.pid(), rounds);
}
