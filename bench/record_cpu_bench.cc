// LINK: mixstack_features_record
// What sampling costs a program of two threads that compute: throughput for each second of its processor time, with
// our samples (registers and 16 KiB of each stack, copied out) and under `perf record -g`, in turn with windows
// without. And what it costs whoever samples: processor time of all that `mixstack record --mode cpu` does (samples,
// walks, names), beside that of `perf record -g` (whose kernel walks frame pointers) and the `perf script` that names.
//   record_cpu_bench [ROUNDS] [WINDOW_MS]
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "features/record/open_recorder.h"
#include "process/perf/burning_process.h"
#include "process/perf/perf_refusal.h"
#include "process/perf/perf_sampler.h"
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
  std::vector<double> slowdown, own_cpu, named_cpu, rate;
  std::uint64_t samples = 0, lost = 0;
};

/// Of a process with one thread; 0: it has gone.
double cpu_seconds_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/schedstat");
  double ns = 0;
  file >> ns;
  return ns * 1e-9;
}

/// It has begun: what it does at its start is over.
void wait_until_settled(pid_t pid) {
  constexpr double kLittle = 0.005;
  std::this_thread::sleep_for(milliseconds(400));
  for (int i = 0; i < 50; i++) {
    const double before = cpu_seconds_of(pid);
    std::this_thread::sleep_for(milliseconds(100));
    if (cpu_seconds_of(pid) - before < kLittle) return;
  }
}

double percent(double seconds, milliseconds of) { return 100 * seconds / (static_cast<double>(of.count()) * 1e-3); }

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
  row.own_cpu.push_back(percent(own_used, length));
  row.rate.push_back(static_cast<double>(copier.samples) / on.cpu);
  row.samples += copier.samples;
  row.lost += sampler->lost();
  return true;
}

/// All that `record` does but its output, when it has begun.
bool with_recorder(const test::BurningProcess& process, std::uint32_t hertz, milliseconds length, Row& row) {
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  if (!session) return false;
  record::SharedRecording shared;
  record::RecorderOptions options;
  options.want = record::Want::cpu;
  options.hertz = hertz;
  options.may_stop = false;
  options.stacks.start_ns = record::monotonic_ns();
  options.stacks.process = shared.recording.process({.pid = static_cast<std::uint32_t>(process.pid())}).value_or(0);
  auto shared_session = std::make_unique<record::SharedSession>();
  shared_session->session = std::move(*session);
  auto opened = record::open_recorder(std::move(shared_session), shared, options);
  if (!opened) return false;
  opened->recorder->warm_up();
  opened->recorder->start(record::monotonic_ns());
  std::this_thread::sleep_for(milliseconds(500));
  const auto samples = [&shared] {
    const std::lock_guard lock(shared.mutex);
    return shared.recording.facts.account.samples;
  };
  const std::uint64_t before = samples();
  const double own = own_cpu_seconds();
  std::this_thread::sleep_for(length);
  row.own_cpu.push_back(percent(own_cpu_seconds() - own, length));
  row.samples += samples() - before;
  opened->recorder->stop();
  row.lost += opened->recorder->account().lost_in_kernel;
  return true;
}

pid_t start_perf(const std::vector<std::string>& arguments) {
  const pid_t peer = ::fork();
  if (peer != 0) return peer;
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp("perf", words.data());
  ::_exit(127);
}

/// Seconds of processor time that `perf script` needs for a file: walks are done, it names.
double script_seconds(const std::string& file) {
  const pid_t peer = start_perf({"perf", "script", "-i", file});
  int status = 0;
  rusage usage{};
  ::wait4(peer, &status, 0, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// False: there is no perf.
bool with_perf(const test::BurningProcess& process, std::uint32_t hertz, milliseconds length, Row& row) {
  const double before = window(process, length / 2, nap).rounds_a_second;
  const std::string file =
      std::filesystem::temp_directory_path() / ("record_cpu_bench." + std::to_string(::getpid()) + ".data");
  const auto begin = std::chrono::steady_clock::now();
  const pid_t peer = start_perf(
      {"perf", "record", "-q", "-g", "-F", std::to_string(hertz), "-p", std::to_string(process.pid()), "-o", file});
  wait_until_settled(peer);
  const double own = cpu_seconds_of(peer);
  const Window on = window(process, length, nap);
  const double recording = cpu_seconds_of(peer) - own;
  const auto whole = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  ::kill(peer, SIGINT);
  int status = 0;
  ::waitpid(peer, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return false;
  const double naming = script_seconds(file) * static_cast<double>(length.count()) / static_cast<double>(whole.count());
  std::filesystem::remove(file);
  row.own_cpu.push_back(percent(recording, length));
  row.named_cpu.push_back(percent(recording + naming, length));
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
    Row us, whole, peer;
    bool has_peer = true;
    for (int i = 0; i < rounds; i++) {
      if (!with_us(process, hertz, length, us)) return 0;
      if (!with_recorder(process, hertz, length, whole)) return 1;
      has_peer = has_peer && with_perf(process, hertz, length, peer);
    }
    std::printf("%5u Hz  slowdown %5.1f %%  samples %7.1f a CPU second, %llu in all, lost %llu  own CPU %4.1f %%\n",
                hertz, median(us.slowdown), median(us.rate), static_cast<unsigned long long>(us.samples),
                static_cast<unsigned long long>(us.lost), median(us.own_cpu));
    std::printf(
        "          all of record, walks and names too: own CPU %5.2f %%, %llu samples, %.2f us each, lost %llu\n",
        median(whole.own_cpu), static_cast<unsigned long long>(whole.samples),
        median(whole.own_cpu) * 1e4 * static_cast<double>(length.count()) * 1e-3 * rounds /
            static_cast<double>(std::max<std::uint64_t>(whole.samples, 1)),
        static_cast<unsigned long long>(whole.lost));
    if (has_peer)
      std::printf(
          "          perf record -g %5.1f %%: %+.1f points; own CPU %5.2f %%, with perf script %6.2f %%: record takes "
          "%.2f\n",
          median(peer.slowdown), median(us.slowdown) - median(peer.slowdown), median(peer.own_cpu),
          median(peer.named_cpu), median(whole.own_cpu) / std::max(median(peer.named_cpu), 1e-3));
    else
      std::printf("          perf record: skipped, there is no perf (Debian's linux-perf)\n");
  }
}
