// LINK: mixstack_session mixstack_process_live
// Memory and processor time of one process that dumps twenty .NET processes, each with a session of its own: sessions
// that share what is known of images (SharedImages), against sessions that do not. Each in a process of its own, so
// that neither finds what the other one left. Needs the debuggees (tests/debuggees/build).
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "measure.h"
#include "mixstack/shared_images.h"
#include "support/dotnet_process.h"

namespace {

using namespace mixstack;

constexpr std::size_t kProcesses = 20;

struct Figures {
  double resident_mb = 0, cpu_ms = 0;
  std::uint64_t frames = 0, named = 0;
};

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double resident_mb() {
  long all = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

Figures dump_all(const std::vector<std::uint32_t>& pids, bool shares) {
  Figures figures;
  SharedImages images;
  std::vector<std::unique_ptr<Session>> sessions;
  const double before = resident_mb(), cpu = cpu_ms();
  for (const std::uint32_t pid : pids) {
    auto session = shares ? images.open_process(pid) : Session::open_process(pid);
    if (!session) continue;
    const auto dump = (*session)->dump({});
    if (dump)
      for (const ThreadDump& thread : dump->threads)
        for (const std::uint32_t symbol : thread.symbols) {
          figures.frames++;
          figures.named += dump->symbols[symbol].name.empty() ? 0 : 1;
        }
    sessions.push_back(std::move(*session));
  }
  figures.cpu_ms = cpu_ms() - cpu;
  figures.resident_mb = resident_mb() - before;
  return figures;
}

Figures in_a_child(const std::vector<std::uint32_t>& pids, bool shares) {
  int pipe_ends[2];
  Figures figures;
  if (::pipe(pipe_ends) != 0) return figures;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    figures = dump_all(pids, shares);
    (void)!::write(pipe_ends[1], &figures, sizeof figures);
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  if (::read(pipe_ends[0], &figures, sizeof figures) != sizeof figures) figures = {};
  ::close(pipe_ends[0]);
  (void)::waitpid(child, nullptr, 0);
  return figures;
}

}  // namespace

int main() {
  std::vector<std::unique_ptr<test::DotnetProcess>> programs;
  std::vector<std::uint32_t> pids;
  for (std::size_t i = 0; i < kProcesses; i++) {
    programs.push_back(std::make_unique<test::DotnetProcess>("locks"));
    if (!programs.back()->ready()) return std::puts("the debuggees are not built"), 0;
    pids.push_back(static_cast<std::uint32_t>(programs.back()->pid()));
  }
  constexpr int kRounds = 5;
  std::vector<double> memory[2], cpu[2];
  Figures last[2];
  for (int round = 0; round < kRounds; round++)
    for (const bool shares : {false, true}) {
      last[shares] = in_a_child(pids, shares);
      memory[shares].push_back(last[shares].resident_mb);
      cpu[shares].push_back(last[shares].cpu_ms);
    }
  bench::print_head("20 sessions of 20 processes");
  bench::print_row("memory, each session with its own images", bench::summarize(memory[0]), "MB");
  bench::print_row("memory, shared images", bench::summarize(memory[1]), "MB");
  bench::print_row("CPU, each session with its own images", bench::summarize(cpu[0]), "ms");
  bench::print_row("CPU, shared images", bench::summarize(cpu[1]), "ms");
  std::printf("frames %llu and %llu, named %llu and %llu; memory %.2f, CPU %.2f of their own\n",
              static_cast<unsigned long long>(last[0].frames), static_cast<unsigned long long>(last[1].frames),
              static_cast<unsigned long long>(last[0].named), static_cast<unsigned long long>(last[1].named),
              bench::summarize(memory[1]).min / bench::summarize(memory[0]).min,
              bench::summarize(cpu[1]).min / bench::summarize(cpu[0]).min);
  return 0;
}
