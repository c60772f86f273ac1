// LINK: mixstack_perf
// What sampling costs a program of two threads that compute: throughput for each second of its processor time, with
// our samples (registers and 16 KiB of each stack, copied out) and under `perf record -g`, in turn with windows
// without.
//   record_cpu_bench [ROUNDS] [WINDOW_MS]
#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "perf/burning_process.h"
#include "perf/perf_refusal.h"
#include "perf/perf_sampler.h"
#include "support/host_cpu.h"

namespace {

using namespace mixstack;
using std::chrono::milliseconds;

double own_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Copies every stack, as a recorder would.
class Copier final : public perf::PerfVisitor {
 public:
  void sample(const perf::PerfSample& s) override {
    if (!s.stack.empty()) std::memcpy(room_.data(), s.stack.data(), s.stack.size());
    samples++;
  }
  void notice(const perf::PerfNotice&) override {}
  std::uint64_t samples = 0;

 private:
  std::vector<std::byte> room_ = std::vector<std::byte>(perf::kMostStackBytes);
};

struct Window {
  double rounds_a_second = 0;  ///< of the program's processor time
  double cpu = 0;
};

Window window(const test::BurningProcess& process, milliseconds length, const std::function<void()>& meanwhile) {
  const double before = process.cpu_seconds();
  const std::uint64_t rounds = process.rounds();
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) meanwhile();
  const double used = process.cpu_seconds() - before;
  return {used > 0 ? static_cast<double>(process.rounds() - rounds) / used : 0, used};
}

struct Row {
  std::vector<double> slowdown, own_cpu, rate;
  std::uint64_t samples = 0, lost = 0;
};

void nap() { std::this_thread::sleep_for(milliseconds(10)); }

bool with_us(const test::BurningProcess& process, std::uint32_t hertz, milliseconds length, Row& row) {
  perf::PerfOptions options;
  options.hertz = hertz;
  options.ring_bytes = 8 << 20;
  auto sampler = perf::PerfSampler::open(process.pid(), test::kHostCpu, options);
  if (!sampler) {
    std::printf("skipped: %s\n", perf::explain_perf_refusal(sampler.error()).c_str());
    return false;
  }
  const double before = window(process, length / 2, nap).rounds_a_second;
  Copier copier;
  const double own = own_cpu_seconds();
  sampler->start();
  const Window on = window(process, length, [&] {
    sampler->wait(milliseconds(50));
    sampler->drain(copier, 1 << 20);
  });
  sampler->stop();
  sampler->drain(copier, 1 << 20, perf::PerfSampler::Until::empty);
  const double own_used = own_cpu_seconds() - own;
  const double after = window(process, length / 2, nap).rounds_a_second;
  row.slowdown.push_back(100 * ((before + after) / 2 / on.rounds_a_second - 1));
  row.own_cpu.push_back(100 * own_used / (static_cast<double>(length.count()) * 1e-3));
  row.rate.push_back(static_cast<double>(copier.samples) / on.cpu);
  row.samples += copier.samples;
  row.lost += sampler->lost();
  return true;
}

/// False: there is no perf.
bool with_perf(const test::BurningProcess& process, std::uint32_t hertz, milliseconds length, Row& row) {
  const double before = window(process, length / 2, nap).rounds_a_second;
  const std::string rate = std::to_string(hertz), pid = std::to_string(process.pid());
  const pid_t peer = ::fork();
  if (peer == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) ::dup2(null, fd);
    ::execlp("perf", "perf", "record", "-q", "-g", "-F", rate.c_str(), "-p", pid.c_str(), "-o", "/dev/null", nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(milliseconds(400));
  const Window on = window(process, length, nap);
  ::kill(peer, SIGINT);
  int status = 0;
  ::waitpid(peer, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return false;
  const double after = window(process, length / 2, nap).rounds_a_second;
  row.slowdown.push_back(100 * ((before + after) / 2 / on.rounds_a_second - 1));
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  const milliseconds length(count > 2 ? std::atoi(arguments[2]) : 2000);
  const test::BurningProcess process(2);
  std::printf("two threads that compute; median of %d windows of %d ms, 16 KiB of each stack, rings of 8 MiB\n", rounds,
              static_cast<int>(length.count()));
  for (const std::uint32_t hertz : {99u, 999u, 9999u}) {
    Row us, peer;
    bool has_peer = true;
    for (int i = 0; i < rounds; i++) {
      if (!with_us(process, hertz, length, us)) return 0;
      has_peer = has_peer && with_perf(process, hertz, length, peer);
    }
    std::printf("%5u Hz  slowdown %5.1f %%  samples %7.1f a CPU second, %llu in all, lost %llu  own CPU %4.1f %%\n",
                hertz, median(us.slowdown), median(us.rate), static_cast<unsigned long long>(us.samples),
                static_cast<unsigned long long>(us.lost), median(us.own_cpu));
    if (has_peer)
      std::printf("          perf record -g %5.1f %%: %+.1f points\n", median(peer.slowdown),
                  median(us.slowdown) - median(peer.slowdown));
    else
      std::printf("          perf record: skipped, there is no perf (Debian's linux-perf)\n");
  }
}
