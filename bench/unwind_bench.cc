// LINK: mixstack_engine_unwind dw elf unwind-x86_64 unwind
// Native steps on copied stacks of T2, ours against libdw and libunwind in the same run, plus the first walk of a fresh
// process.
//   unwind_bench [ROUNDS]
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "measure.h"
#include "unwind_peer_libdw.h"
#include "unwind_peer_libunwind.h"
#include "unwind_walkers.h"

namespace {

struct Entry {
  const char* name;
  const char* key;
  std::function<std::unique_ptr<bench::Walker>()> make;
  bool is_peer = false;
  double narrow = 0, wide = 0;
};

std::vector<Entry> entries() {
  return {
      {"mixstack light", "light", [] { return std::make_unique<bench::OurWalker<false, true>>(); }},
      {"mixstack full", "full", [] { return std::make_unique<bench::OurWalker<true, true>>(); }},
      {"mixstack light, no cache", "light0", [] { return std::make_unique<bench::OurWalker<false, false>>(); }},
      {"mixstack full, no cache", "full0", [] { return std::make_unique<bench::OurWalker<true, false>>(); }},
      {"libdw, as perf drives it", "libdw", [] { return std::make_unique<bench::LibdwWalker>(); }, true},
      {"libunwind unw_step, cached", "libunwind",
       [] { return std::make_unique<bench::LibunwindWalker>(UNW_CACHE_GLOBAL); }, true},
  };
}

/// One stack over and over.
bench::Summary measure_narrow(bench::Walker& walker, const bench::SnapshotFile& file, unsigned rounds) {
  std::vector<double> samples;
  for (unsigned i = 0; i < rounds * 10; i++) {
    constexpr unsigned kWalks = 16;
    std::size_t frames = 0;
    const auto start = bench::now_ns();
    for (unsigned k = 0; k < kWalks; k++) frames += walker.walk(file.snapshots[0]).count;
    samples.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(frames));
  }
  return bench::summarize(samples);
}

/// All stacks in turn, with the walker's own caches empty at the start of each round or not.
bench::Summary measure_wide(bench::Walker& walker, const bench::SnapshotFile& file, unsigned rounds, bool forget,
                            std::uint64_t& checksum) {
  std::vector<double> samples;
  for (unsigned i = 0; i < rounds; i++) {
    if (forget) walker.forget();
    std::size_t frames = 0;
    checksum = 0;
    const auto start = bench::now_ns();
    for (const auto& s : file.snapshots) {
      const auto found = walker.walk(s);
      frames += found.count;
      checksum = checksum * 31 + found.checksum;
    }
    samples.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(frames));
  }
  return bench::summarize(samples);
}

/// Runs in a process of its own: set-up and first walk, in microseconds.
int first_walk(const std::string& path, const std::string& key) {
  const auto file = bench::read_snapshots(path);
  for (const auto& e : entries()) {
    if (key != e.key) continue;
    const auto walker = e.make();
    const auto start = bench::now_ns();
    walker->prepare(file);
    const auto frames = walker->walk(file.snapshots[0]);
    const auto end = bench::now_ns();
    std::printf("%g %zu\n", static_cast<double>(end - start) / 1000, frames.count);
    return 0;
  }
  return 2;
}

bench::Summary measure_first(const std::string& self, const std::string& path, const std::string& key) {
  std::vector<double> samples;
  for (unsigned i = 0; i < 25; i++) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
        ::popen((self + " --first " + path + " " + key).c_str(), "r"), ::pclose);
    double us = 0;
    if (pipe && std::fscanf(pipe.get(), "%lf", &us) == 1) samples.push_back(us);
  }
  return bench::summarize(samples);
}

std::string ratio(double peer, double ours) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.0fx of ours", peer / ours);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--first") return first_walk(argv[2], argv[3]);
  const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 40;
  const std::string path = "/tmp/mixstack-t2-" + std::to_string(getpid());
  if (std::system((std::string(T2_TARGET) + " " + path).c_str()) != 0) return 1;
  const auto file = bench::read_snapshots(path);

  bench::print_head("copied stack, ns per frame");
  std::uint64_t expected = 0;
  bool all_agree = true;
  std::vector<Entry> all = entries();
  for (auto& e : all) {
    const auto walker = e.make();
    walker->prepare(file);
    std::uint64_t checksum = 0;
    const auto narrow = measure_narrow(*walker, file, e.is_peer ? std::max(rounds / 10, 1u) : rounds);
    const auto wide = measure_wide(*walker, file, e.is_peer ? std::max(rounds / 10, 1u) : rounds, true, checksum);
    const auto warm = measure_wide(*walker, file, e.is_peer ? 2 : rounds, false, checksum);
    e.narrow = narrow.min;
    e.wide = wide.min;
    if (expected == 0) expected = checksum;
    const bool agrees = checksum == expected;
    all_agree = all_agree && agrees;
    const std::string name = e.name;
    bench::print_row(name + ": one stack", narrow, "ns", e.is_peer ? ratio(narrow.min, all[0].narrow) : "");
    bench::print_row(name + ": 256 stacks, caches emptied first", wide, "ns",
                     e.is_peer ? ratio(wide.min, all[0].wide) : "");
    bench::print_row(name + ": 256 stacks", warm, "ns",
                     (agrees ? "same frames, " : "FRAMES DIFFER, ") +
                         std::to_string(walker->walk(file.snapshots[0]).count) + " in the first stack");
  }
  std::printf("full / light: %.2f one stack, %.2f 256 stacks\n", all[1].narrow / all[0].narrow,
              all[1].wide / all[0].wide);

  bench::print_head("fresh process: set-up and first walk");
  double ours = 0;
  for (const auto& e : all) {
    if (std::string(e.key) == "light0" || std::string(e.key) == "full0") continue;
    const auto first = measure_first(argv[0], path, e.key);
    if (ours == 0) ours = first.min;
    bench::print_row(e.name, first, "us", e.is_peer ? ratio(first.min, ours) : "");
  }
  std::remove(path.c_str());
  return all_agree ? 0 : 1;
}
