// LINK: mixstack_session mixstack_dotnet_async mixstack_dotnet_heap mixstack_base_memory
// Looking through another process's heap for the boxes of async methods, against copying the same bytes alone.
//   heap_scan_bench [MEGABYTES [PID]]     default: 512; with PID the whole of `why --heap` on that .NET process, too
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/memory/process_memory.h"
#include "dotnet/heap/word_search.h"
#include "measure.h"
#include "mixstack/session.h"

namespace {

using namespace mixstack;

constexpr std::size_t kPiece = 1 << 20, kTypes = 40;
constexpr std::uint64_t kLoaderHeap = 0x7f1122000000;
constexpr int kRounds = 9;

/// Words as a heap has them: small numbers, references, text, and MethodTables of all kinds, one in five.
void fill(std::uint64_t* words, std::size_t count) {
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = 0; i < count; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const std::uint64_t kind = state % 10;
    words[i] = kind < 2   ? kLoaderHeap + (state >> 20) % 100'000 * 64
               : kind < 5 ? 0x7f2200000000 + state % (1u << 30)
                          : state >> 40;
  }
}

double gigabytes_a_second(std::size_t bytes, double ns) { return static_cast<double>(bytes) / ns; }

int measure(std::size_t bytes) {
  void* heap = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (heap == MAP_FAILED) return 1;
  fill(static_cast<std::uint64_t*>(heap), bytes / 8);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fill(static_cast<std::uint64_t*>(heap), bytes / 8);  // pages of its own
    for (;;) pause();
  }
  sleep(2);
  const memory::ProcessMemory memory(static_cast<std::uint32_t>(child));
  std::vector<std::uint64_t> wanted, piece(kPiece / 8);
  for (std::size_t i = 0; i < kTypes; i++)
    wanted.push_back(kLoaderHeap + i * 150'000 + 8);  // between those that are there
  const dotnet::objects::WordSearch search(wanted);
  std::vector<double> copies, scans;
  std::size_t hits = 0;
  for (int round = 0; round < kRounds; round++) {
    for (const bool looks : {false, true}) {
      const std::uint64_t begin = bench::now_ns();
      for (std::size_t at = 0; at < bytes; at += kPiece) {
        const auto n = memory.read_some(reinterpret_cast<Address>(heap) + at, std::as_writable_bytes(std::span(piece)));
        if (!n || *n != kPiece) return 1;
        if (looks) search.in(piece, [&](std::size_t) { hits++; });
      }
      (looks ? scans : copies).push_back(gigabytes_a_second(bytes, static_cast<double>(bench::now_ns() - begin)));
    }
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::sort(copies.begin(), copies.end());
  std::sort(scans.begin(), scans.end());
  std::printf("%zu MB, %zu types, %zu hits\n", bytes >> 20, kTypes, hits);
  std::printf("copy alone       best %.2f, median %.2f GB/s\n", copies.back(), copies[copies.size() / 2]);
  std::printf("copy and search  best %.2f, median %.2f GB/s, ratio %.2f (wanted: 2 GB/s)\n", scans.back(),
              scans[scans.size() / 2], scans.back() / copies.back());
  return 0;
}

int whole(std::uint32_t pid) {
  auto session = Session::open_process(pid);
  if (!session) return 1;
  DumpOptions options;
  options.waits = options.pending_work = true;
  options.heap = [](std::uint64_t) { return true; };
  for (int round = 0; round < 5; round++) {
    const auto dump = (*session)->dump(options);
    if (!dump || dump->runtimes.empty() || !dump->runtimes[0].pending || !dump->runtimes[0].pending->heap) return 1;
    const HeapScan& scan = *dump->runtimes[0].pending->heap;
    std::printf("process %u: %.0f MB, %llu async methods, stood still %.1f ms, %.2f GB/s\n", pid,
                static_cast<double>(scan.bytes) / 1e6, static_cast<unsigned long long>(scan.suspended),
                static_cast<double>(scan.pause.count()) / 1e6,
                gigabytes_a_second(scan.bytes, static_cast<double>(scan.pause.count())));
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t megabytes = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 512;
  if (const int failed = measure(megabytes << 20); failed != 0) return failed;
  return count > 2 ? whole(static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10))) : 0;
}
