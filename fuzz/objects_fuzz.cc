// LINK: mixstack_output_report mixstack_features_why mixstack_session
// LIMITS: -timeout=60 -rss_limit_mb=1024 -max_len=700 -len_control=0 -entropic=0
// SECONDS: 60
// NEEDS: scripts/fuzz_cores --heap
// What `why --heap` reads of managed objects, on a core of a .NET process that was damaged where it reads: waits,
// owners, thread pool, timers, chains of async methods, the search of the heap, and what is concluded and written.
// Inputs as of core_dump_fuzz; the cores are in MIXSTACK_FUZZ_HEAP_CORES, else build/fuzz-heap-cores.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "core_patches.h"
#include "features/why/judge.h"
#include "output/report/text_async.h"
#include "output/report/why.h"

namespace {

using namespace mixstack;
using namespace mixstack::fuzz;

constexpr double kMaxSeconds = 10;
constexpr std::size_t kMostChains = 1 << 15;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Told {
  std::size_t hash = 0;  ///< 0: the core was refused
  std::uint64_t boxes = 0, chains = 0;
};

struct Subject {
  CoreOptions options;
  std::unique_ptr<CoreOverlay> core;
  CoreAnatomy anatomy;
  Told whole;  ///< before any damage
};

struct Fuzzed {
  std::vector<Subject> subjects;
  std::uint64_t runs = 0, searched = 0, changed = 0;
  double longest = 0, seconds = 0;
  ~Fuzzed() {
    if (runs != 0)
      fmt::print(stderr,
                 "objects: {} mutations, {} heaps searched, {} other answers, {:.3f} s of CPU each, longest {:.3f} s\n",
                 runs, searched, changed, seconds / static_cast<double>(runs), longest);
  }
};

DumpOptions all_of_it() {
  DumpOptions options;
  options.waits = options.pending_work = true;
  options.heap = [](std::uint64_t) { return true; };
  return options;
}

Told ask_why(const Subject& subject) {
  Told told;
  auto session = Session::open_core(subject.options);
  if (!session) return told;
  const auto dump = (*session)->dump(all_of_it());
  if (!dump) return told;
  told.hash = 1;
  report::Writer out(
      [&told](std::string_view text) { told.hash = told.hash * 31 + std::hash<std::string_view>{}(text); });
  const auto verdicts = why::judge(*dump);
  report::write_why_text(out, *dump, verdicts, {});
  report::write_why_json(out, *dump, verdicts);
  report::write_why_dot(out, *dump, verdicts);
  report::Painter painter(out, false);
  report::write_async_text(painter, *dump, {.merge = true});
  out.flush();
  for (const RuntimeSummary& runtime : dump->runtimes) {
    if (!runtime.pending) continue;
    if (runtime.pending->heap) told.boxes += runtime.pending->heap->suspended;
    told.chains += runtime.pending->chains.size();
  }
  return told;
}

Fuzzed& fuzzed() {
  static Fuzzed all;
  return all;
}

void fill(Fuzzed& all) {
  const char* folder = std::getenv("MIXSTACK_FUZZ_HEAP_CORES");
  std::error_code ignored;
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder != nullptr ? folder : "build/fuzz-heap-cores", ignored))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    Subject s;
    s.core = std::make_unique<CoreOverlay>(path);
    s.options.path = s.core->path();
    s.options.use_own_files = false;
    if (const std::string mods = path + ".mods"; std::filesystem::is_directory(mods)) s.options.sysroots = {mods};
    s.anatomy = CoreAnatomist(*s.core).study(s.options.sysroots, all_of_it());
    const double start = cpu_seconds();
    s.whole = ask_why(s);
    fmt::print(stderr, "{}: {} boxes, {} kinds of chains, {} pages read, {:.3f} s\n", path, s.whole.boxes,
               s.whole.chains, s.anatomy.pages.size(), cpu_seconds() - start);
    if (s.whole.boxes != 0) all.subjects.push_back(std::move(s));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fill(fuzzed());
  if (!fuzzed().subjects.empty()) return 0;
  fmt::print(stderr, "objects: no core with async methods to damage: scripts/fuzz_cores --heap makes one\n");
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Fuzzed& all = fuzzed();
  if (size < 13) return 0;
  Subject& subject = all.subjects[data[0] % all.subjects.size()];
  CorePatcher(*subject.core, subject.anatomy).apply(std::as_bytes(std::span(data, size).subspan(2)));
  const double start = cpu_seconds();
  const Told told = ask_why(subject);
  const double taken = cpu_seconds() - start;
  if (taken > kMaxSeconds || told.chains > kMostChains) {
    fmt::print(stderr, "{} s of CPU, {} chains\n", taken, told.chains);
    std::abort();
  }
  all.longest = std::max(all.longest, taken);
  all.seconds += taken;
  subject.core->restore();
  all.runs++;
  all.searched += told.boxes != 0 ? 1 : 0;
  all.changed += told.hash != subject.whole.hash ? 1 : 0;
  return 0;
}
