// LINK: mixstack_process_live
// How long a process stands still for one consistent capture of all its threads, seen from
// inside the process, against the bare system calls that any consistent stop needs. Both in turn in one run, so that a
// busy neighbour hits both.
//   pause_bench [rounds] [threads...]      default: 40 rounds, 2 10 100 500 threads
#include <sys/resource.h>

#include "pause/gap_target.h"
#include "pause/stop_floor.h"
#include "process/live/live_target.h"

namespace {

using pause_bench::GapTarget;
using pause_bench::now_ns;

struct Series {
  std::vector<double> gap, wall;
  [[nodiscard]] static double quantile(std::vector<double> v, double q) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    return v[std::min(v.size() - 1, static_cast<std::size_t>(q * static_cast<double>(v.size())))];
  }
};

void add(Series& s, const GapTarget& target, std::uint64_t begin, std::uint64_t end) {
  usleep(3000);
  const std::uint64_t gap = target.page().longest(begin, end);
  if (gap > 0) s.gap.push_back(static_cast<double>(gap) / 1e6);
  s.wall.push_back(static_cast<double>(end - begin) / 1e6);
}

void print(const char* what, unsigned threads, std::size_t stack, const Series& s) {
  std::printf("%4u threads, %3zu KiB stacks, %-30s gap ms min %6.3f p25 %6.3f median %6.3f   wall median %6.3f\n",
              threads, stack >> 10, what, Series::quantile(s.gap, 0), Series::quantile(s.gap, 0.25),
              Series::quantile(s.gap, 0.5), Series::quantile(s.wall, 0.5));
}

/// One capture; `s.wall` gets the pause it reports itself. False when it is not what was asked for.
bool capture_once(const GapTarget& program, mixstack::Target& target, unsigned threads, Series& s, Series& whole) {
  program.page().count = 0;
  mixstack::CaptureRequest request;
  request.stop_timeout = std::chrono::milliseconds(1000);  // the machine may be busy
  const std::uint64_t begin = now_ns();
  auto capture = target.capture(request);
  const std::uint64_t end = now_ns();
  if (!capture || capture->threads.size() != threads || capture->threads_not_stopped != 0) return false;
  add(s, program, begin, end);
  s.wall.back() = static_cast<double>(capture->pause.count()) / 1e6;
  whole.wall.push_back(static_cast<double>(end - begin) / 1e6);
  return true;
}

void print_ratio(const char* what, const Series& ours, const Series& bare) {
  const auto ratio = [&](double q) { return Series::quantile(ours.gap, q) / Series::quantile(bare.gap, q); };
  std::printf("     %-28s gap / floor: p25 %.2f median %.2f; last release / floor: median %.2f\n", what, ratio(0.25),
              ratio(0.5), Series::quantile(ours.wall, 0.5) / Series::quantile(bare.wall, 0.5));
}

int measure(unsigned threads, std::size_t stack_bytes, int rounds) {
  const GapTarget program(threads, stack_bytes);
  const auto pid = static_cast<std::uint32_t>(program.pid());
  auto target = mixstack::process::open_live(pid);
  auto holding = mixstack::process::open_live(pid, {.hold_all = true});
  if (!target || !holding) return std::printf("cannot open: error %d\n", static_cast<int>(target.error().code)), 1;
  pause_bench::StopFloor floor(program.pid(), 16 << 10);
  Series bare, ours, held, whole, whole_held;
  for (int i = 0; i < rounds; i++) {
    program.page().count = 0;
    const auto span = floor.stop_once();
    add(bare, program, span.begin, span.end);
    if (!capture_once(program, **target, threads, ours, whole) ||
        !capture_once(program, **holding, threads, held, whole_held))
      return std::printf("capture failed or incomplete\n"), 1;
  }
  print("floor (16 KiB each)", threads, stack_bytes, bare);
  print("capture (whole stacks)", threads, stack_bytes, ours);
  print("capture, hold_all", threads, stack_bytes, held);
  print_ratio("capture", ours, bare);
  print_ratio("capture, hold_all", held, bare);
  std::printf("     whole call: median %.3f ms\n", Series::quantile(whole.wall, 0.5));
  return 0;
}

/// As far as we may; the target inherits it. With autogroups (sched(7)) the priority counts between sessions.
void keep_neighbours_out() {
  const bool raised = setpriority(PRIO_PROCESS, 0, -20) == 0;
  std::FILE* group = std::fopen("/proc/self/autogroup", "w");
  if (group != nullptr) {
    std::fputs("-20", group);
    std::fclose(group);
  }
  if (!raised) std::puts("cannot raise the priority: expect noise");
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 40;
  std::vector<unsigned> counts;
  for (int i = 2; i < argc; i++) counts.push_back(static_cast<unsigned>(std::atoi(argv[i])));
  if (counts.empty()) counts = {2, 10, 100, 500};
  pause_bench::pin_to(0);
  keep_neighbours_out();
  for (const unsigned n : counts)
    for (const std::size_t stack : {8u << 10, 80u << 10})
      if (measure(n, stack, rounds) != 0) return 1;
  return 0;
}
