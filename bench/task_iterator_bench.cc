// LINK: mixstack_process_bpf
// What looking at threads that wait costs without a stop, and with one: CPU time of this process and its children (the
// kernel's work for them included) a round, at 10, 100 and 500 threads of which none runs, and of which all run between
// two rounds. The peer is the ptrace stop of the same threads in the same run, with the same bytes of each stack.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "process/bpf/bpf_refusal.h"
#include "process/bpf/task_iterator.h"
#include "process/live/live_target.h"
#include "process/live/test_process.h"

namespace {

using namespace mixstack;
using process::test::Shared;

constexpr int kRounds = 200;
constexpr std::uint32_t kStackBytes = 16 << 10;

double cpu_us() {
  double us = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      us += static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  }
  return us;
}

/// Waits with some KiB of its stack in use. `go`: how long, in ms; -1: for ever.
int wait_below(Shared& shared, int depth) {
  volatile char block[1000];
  block[0] = static_cast<char>(depth);
  if (depth > 0) return wait_below(shared, depth - 1) + block[0];
  shared.ready++;
  while (shared.go != 0) (void)::poll(nullptr, 0, shared.go);
  return 0;
}
void* wait_on_stack(void* shared) { return wait_below(*static_cast<Shared*>(shared), 12), nullptr; }

void tell(const char* what, double us, int threads) {
  const double each = us / kRounds;
  std::printf("  %-28s %8.0f us a round %7.2f us a thread %6.2f %% of a core at 100 Hz\n", what, each, each / threads,
              each * 100 / 1e6 * 100);
}

bool by_iterator(std::uint32_t pid, int threads, bool they_run) {
  auto iterator = bpf::TaskIterator::open(pid, {.stack_bytes = kStackBytes, .room = 32 << 20});
  if (!iterator) {
    std::printf("%s", bpf::refusal_text(bpf::explain_bpf_refusal(iterator.error()), iterator.error()).c_str());
    return false;
  }
  std::array<std::size_t, 7> looks{};
  std::size_t bytes = 0;
  double spent = 0;
  for (int i = 0; i < kRounds; i++) {
    if (they_run) ::usleep(50'000);  // all have run on a machine of two processors by then
    const double begin = cpu_us();
    const auto round = iterator->read();
    spent += cpu_us() - begin;
    if (!round) return false;
    for (const auto& t : *round) {
      looks[static_cast<std::size_t>(t.look)]++;
      bytes += t.stack.bytes.size();
    }
  }
  tell("iterator", spent, threads);
  std::printf("    fresh %zu, unchanged %zu, on a processor %zu, torn %zu; %zu KiB a round\n", looks[0], looks[1],
              looks[2], looks[3], bytes / kRounds / 1024);
  return true;
}

void by_ptrace(std::uint32_t pid, int threads) {
  auto stopped = process::open_live(pid);
  CaptureRequest request;
  request.initial_stack_bytes = kStackBytes;
  request.stack_byte_budget = 0;
  const double begin = cpu_us();
  for (int i = 0; stopped && i < kRounds; i++) (void)(*stopped)->capture(request);
  tell("ptrace", cpu_us() - begin, threads);
}

}  // namespace

int main() {
  for (const int threads : {10, 100, 500}) {
    for (const int nap : {-1, 20}) {
      const process::test::TestProcess process(
          [&](Shared& s) {
            s.go = nap;
            for (int i = 1; i < threads; i++) process::test::start_thread(wait_on_stack, &s);
            wait_below(s, 12);
          },
          threads);
      std::printf("%d threads, %s\n", threads, nap < 0 ? "none runs" : "all run between two rounds");
      if (!by_iterator(process.id(), threads, nap > 0)) return 1;
      if (nap < 0) by_ptrace(process.id(), threads);
    }
  }
}
