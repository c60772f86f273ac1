// LINK: mixstack_engine_self_walk mixstack_engine_unwind t2_library dl
// Walks of our own stack, 30 calls deep, ours against libunwind's unw_backtrace and glibc's backtrace in the same run.
//   self_walk_bench [ROUNDS]
// libunwind is loaded here and not linked: linked, it would replace glibc's backtrace by its own.
#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "measure.h"
#include "mixstack/self_walk.h"
#include "t2_functions.h"

namespace {

using mixstack::Address;
constexpr std::size_t kMostFrames = 128;
constexpr std::size_t kPaths = 256;

/// Answers the number of frames; the address of the walker itself and of its caller come first.
using WalkFunction = std::size_t (*)(Address* out);
const mixstack::SelfWalker* g_walker = nullptr;  // for plain functions
int (*g_unw_backtrace)(void**, int) = nullptr;

std::size_t walk_ours(Address* out) { return g_walker->walk_here(std::span(out, kMostFrames)).count; }
std::size_t walk_libunwind(Address* out) {
  return static_cast<std::size_t>(g_unw_backtrace(reinterpret_cast<void**>(out), kMostFrames));
}
std::size_t walk_glibc(Address* out) {
  return static_cast<std::size_t>(backtrace(reinterpret_cast<void**>(out), kMostFrames));
}

template <std::size_t... N>
void fill(t2::Function* out, std::index_sequence<N...>) {
  const t2::Function all[] = {&t2::function<N>...};
  std::copy(std::begin(all), std::end(all), out);
}

class Stacks {
 public:
  Stacks() {
    fill(functions_.data(), std::make_index_sequence<t2::kFunctionsPerHalf>());
    t2::library_functions(functions_.data() + t2::kFunctionsPerHalf);
    std::uint64_t random = 0x2545f4914f6cdd1d;
    for (auto& path : paths_) {
      for (std::size_t i = 0; i < path.size(); i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        // Executable and library take turns.
        path[i] = static_cast<std::uint16_t>((random >> 40) % t2::kFunctionsPerHalf + i % 2 * t2::kFunctionsPerHalf);
      }
    }
  }
  /// Calls `work` at the end of one of the 256 stacks.
  void at(std::size_t path, const std::function<void()>& work) {
    t2::Run run;
    run.path = paths_[path].data() + 1;
    run.depth = t2::kDepth;
    run.functions = functions_.data();
    run.bottom = [](t2::Run& r) { (*static_cast<const std::function<void()>*>(r.bottom_data))(); };
    run.bottom_data = const_cast<std::function<void()>*>(&work);
    (void)functions_[paths_[path][0]](run, 0);
  }

 private:
  std::array<t2::Function, t2::kFunctions> functions_{};
  std::array<std::array<std::uint16_t, t2::kDepth + 1>, kPaths> paths_{};
};

struct Peer {
  const char* name;
  const char* key;
  WalkFunction walk;
  bool is_slow;
};
constexpr Peer kPeers[] = {{"mixstack SelfWalker::walk_here", "ours", walk_ours, false},
                           {"libunwind unw_backtrace", "libunwind", walk_libunwind, false},
                           {"glibc backtrace()", "glibc", walk_glibc, true}};

/// One stack over and over.
void narrow_samples(const Peer& peer, unsigned rounds, std::vector<double>& samples) {
  std::array<Address, kMostFrames> out;
  for (unsigned i = 0; i < rounds; i++) {
    const unsigned walks = peer.is_slow ? 4 : 32;
    std::size_t frames = 0;
    const auto start = bench::now_ns();
    for (unsigned k = 0; k < walks; k++) frames += peer.walk(out.data());
    samples.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(frames));
  }
}

/// Each of the 256 stacks once in turn; the time is that of the walks alone.
double wide_sample(Stacks& stacks, const Peer& peer) {
  std::array<Address, kMostFrames> out;
  std::uint64_t ns = 0;
  std::size_t frames = 0;
  for (std::size_t path = 0; path < kPaths; path++) {
    stacks.at(path, [&] {
      const auto start = bench::now_ns();
      frames += peer.walk(out.data());
      ns += bench::now_ns() - start;
    });
  }
  return static_cast<double>(ns) / static_cast<double>(frames);
}

/// In a process of its own: "set-up, first walk" in microseconds.
int first_walk(const std::string& key) {
  Stacks stacks;
  for (const Peer& peer : kPeers) {
    if (key != peer.key) continue;
    stacks.at(0, [&] {
      std::array<Address, kMostFrames> out;
      const auto start = bench::now_ns();
      std::unique_ptr<mixstack::SelfWalker> walker;
      if (peer.walk == walk_ours) walker = std::move(*mixstack::SelfWalker::create());
      g_walker = walker.get();
      const auto ready = bench::now_ns();
      const std::size_t count = peer.walk(out.data());
      const auto end = bench::now_ns();
      std::printf("%g %g %zu\n", static_cast<double>(ready - start) / 1000, static_cast<double>(end - ready) / 1000,
                  count);
    });
  }
  return 0;
}

/// For a profiler: one walker, one stack.
int loop(Stacks& stacks, const std::string& key, unsigned rounds) {
  std::vector<double> samples;
  for (const Peer& peer : kPeers)
    if (key == peer.key) stacks.at(0, [&] { narrow_samples(peer, rounds, samples); });
  bench::print_row(key, bench::summarize(samples), "ns/frame");
  return 0;
}

struct First {
  bench::Summary setup, walk;
};
First measure_first(const std::string& self, const Peer& peer, unsigned rounds) {
  std::vector<double> setups, walks;
  for (unsigned i = 0; i < rounds; i++) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen((self + " --first " + peer.key).c_str(), "r"),
                                                               ::pclose);
    double setup = 0, walk = 0;
    if (!pipe || std::fscanf(pipe.get(), "%lf %lf", &setup, &walk) != 2) continue;
    setups.push_back(setup);
    walks.push_back(walk);
  }
  return {bench::summarize(setups), bench::summarize(walks)};
}

std::string ratio(double peer, double ours) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.2fx of ours", peer / ours);
  return text;
}

/// The same stack by all three: the frames above the walkers' own callers are equal.
bool all_agree(Stacks& stacks) {
  bool agree = true;
  stacks.at(0, [&] {
    std::array<std::array<Address, kMostFrames>, 3> out{};
    std::array<std::size_t, 3> counts{};
    for (std::size_t i = 0; i < 3; i++) counts[i] = kPeers[i].walk(out[i].data());
    for (std::size_t i = 1; i < 3; i++) {
      for (std::size_t k = 1; k <= t2::kDepth + 4; k++)
        if (out[0][counts[0] - k] != out[i][counts[i] - k]) agree = false;
    }
  });
  return agree;
}

void print_loads(Stacks& stacks, const char* when) {
  stacks.at(0, [&] {
    std::array<Address, kMostFrames> out;
    const auto t = g_walker->walk_here(out);
    std::printf("%s: %zu frames, %u by plain loads inside the stack, %u others, %u pages probed, %u rules found\n",
                when, t.count, t.plain_frames, t.probed_frames, t.pages_probed, t.rules_found);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (void* libunwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL))
    g_unw_backtrace = reinterpret_cast<int (*)(void**, int)>(dlsym(libunwind, "unw_backtrace"));
  if (g_unw_backtrace == nullptr) return std::fprintf(stderr, "libunwind.so.8 is missing\n"), 1;
  if (argc == 3 && std::string(argv[1]) == "--first") return first_walk(argv[2]);
  const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 40;
  Stacks stacks;
  auto walker = mixstack::SelfWalker::create();
  if (!walker) return 1;
  g_walker = walker->get();
  if (argc == 4 && std::string(argv[1]) == "--loop")
    return loop(stacks, argv[2], static_cast<unsigned>(std::atoi(argv[3])));
  print_loads(stacks, "cold");
  print_loads(stacks, "warm");

  std::vector<double> narrow[3], wide[3];
  for (auto& v : narrow) v.reserve(1 << 20);
  for (unsigned i = 0; i < rounds; i++) {
    for (std::size_t p = 0; p < 3; p++) {
      stacks.at(0, [&] { narrow_samples(kPeers[p], 50, narrow[p]); });
      if (i % 4 == 0) wide[p].push_back(wide_sample(stacks, kPeers[p]));
    }
  }
  bench::print_head("own stack, 30 calls deep, ns per frame");
  const auto ours = bench::summarize(narrow[0]);
  for (std::size_t p = 0; p < 3; p++) {
    const auto s = bench::summarize(narrow[p]);
    bench::print_row(std::string("narrow: ") + kPeers[p].name, s, "ns/frame", p == 0 ? "" : ratio(s.min, ours.min));
  }
  const auto ours_wide = bench::summarize(wide[0]);
  for (std::size_t p = 0; p < 3; p++) {
    const auto s = bench::summarize(wide[p]);
    bench::print_row(std::string("wide: ") + kPeers[p].name, s, "ns/frame", p == 0 ? "" : ratio(s.min, ours_wide.min));
  }
  bench::print_head("first walk of a fresh process, us");
  First first_ours;
  for (const Peer& peer : kPeers) {
    const First first = measure_first(argv[0], peer, 25);
    if (peer.walk == walk_ours) {
      first_ours = first;
      bench::print_row("create()", first.setup, "us");
    }
    bench::print_row(peer.name, first.walk, "us",
                     peer.walk == walk_ours ? "" : ratio(first.walk.min, first_ours.walk.min));
  }
  std::printf("%s\n", all_agree(stacks) ? "all walkers agree" : "THE WALKERS DISAGREE");
  return 0;
}
