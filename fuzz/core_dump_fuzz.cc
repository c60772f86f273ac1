// LINK: mixstack_output_report mixstack_session
// LIMITS: -timeout=60 -rss_limit_mb=512 -max_len=700 -len_control=0 -entropic=0
// SECONDS: 75
// NEEDS: scripts/fuzz_cores
// The whole of `dump --core` on real cores that were damaged: a small input says how (core_patches.h). The cores are
// the files in MIXSTACK_FUZZ_CORES (scripts/fuzz_cores makes some) whose names do not end in ".mods"; X.mods is a
// folder with the files of X's process. Without any it fails. A mutation may take five seconds of a CPU: the clock on
// the wall, which libFuzzer looks at, tells more of the machine than of us.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "core_patches.h"
#include "output/report/json.h"
#include "output/report/text.h"

namespace {

using namespace mixstack;
using namespace mixstack::fuzz;

constexpr std::size_t kWays = 16;  // to make a report
constexpr double kMaxSeconds = 5;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Subject {
  std::string path;
  CoreOptions options;
  std::unique_ptr<CoreOverlay> core;
  CoreAnatomy anatomy;
  std::array<std::size_t, kWays> whole_dump{};  // hashes of its reports before any damage, by how they are made
};

struct Fuzzed {
  std::vector<Subject> subjects;
  std::uint64_t runs = 0, opened = 0, changed = 0, frames = 0;
  double longest = 0, seconds = 0;
  ~Fuzzed() {
    if (runs != 0)
      fmt::print(stderr,
                 "core_dump: {} mutations, {} opened, {} with another report, {} frames, {:.3f} s of CPU each, longest "
                 "{:.3f} s\n",
                 runs, opened, changed, frames, seconds / static_cast<double>(runs), longest);
  }
};

/// 0 when the core was refused.
std::size_t dump(const Subject& subject, std::uint8_t how, std::uint64_t& frames) {
  auto session = Session::open_core(subject.options);
  if (!session) return 0;
  DumpOptions options;
  options.walk.explain = options.walk.explicit_frames = options.walk.keep_registers = true;
  // Objects of the heap as well, for every other way.
  const bool has_objects = how / 8 % 2 != 0;
  options.waits = options.pending_work = options.arguments = options.data = has_objects;
  std::size_t hash = 1;
  // Three threads suffice most of the time: what was damaged is mostly what all share.
  const auto threads = (*session)->target().threads().value_or(std::vector<ThreadId>{});
  for (std::size_t i = 0; how % 4 != 0 && i < 3 && !threads.empty(); i++)
    options.threads.push_back(threads[(how / 4 + i) % threads.size()]);
  const auto dump = (*session)->dump(options);
  if (!dump) return 0;
  report::Writer out([&hash](std::string_view text) { hash = hash * 31 + std::hash<std::string_view>{}(text); });
  if (how % 2 != 0)
    report::write_json(out, *dump, {.registers = true, .explain = true, .arguments = has_objects});
  else
    report::write_text(out, *dump, {.registers = true, .explain = true, .merge = true});
  out.flush();
  for (const auto& thread : dump->threads) frames += thread.trace.frames.size();
  return hash;
}

void add_subject(Fuzzed& all, const std::string& path) {
  Subject s;
  s.path = path;
  s.core = std::make_unique<CoreOverlay>(path);
  s.options.path = s.core->path();
  s.options.use_own_files = false;
  if (const std::string mods = path + ".mods"; std::filesystem::is_directory(mods)) s.options.sysroots = {mods};
  s.anatomy = CoreAnatomist(*s.core).study(s.options.sysroots);
  std::uint64_t frames = 0;
  const double start = cpu_seconds();
  for (unsigned how = 0; how < kWays; how++) s.whole_dump[how] = dump(s, static_cast<std::uint8_t>(how), frames);
  fmt::print(stderr, "{}: {} frames, {} pages read, {} pointers, {:.3f} s\n", path, frames, s.anatomy.pages.size(),
             s.anatomy.pointers.size(), cpu_seconds() - start);
  all.subjects.push_back(std::move(s));
}

Fuzzed& fuzzed() {
  static Fuzzed all;
  return all;
}

void fill(Fuzzed& all) {
  const char* folder = std::getenv("MIXSTACK_FUZZ_CORES");
  std::error_code ignored;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder != nullptr ? folder : "", ignored))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // an input's first byte picks one
  for (const std::string& path : paths) add_subject(all, path);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fill(fuzzed());
  if (!fuzzed().subjects.empty()) return 0;
  fmt::print(stderr, "core_dump: no cores to damage: MIXSTACK_FUZZ_CORES must name a folder that has some\n");
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Fuzzed& all = fuzzed();
  if (size < 13) return 0;
  Subject& subject = all.subjects[data[0] % all.subjects.size()];
  const auto how = static_cast<std::uint8_t>(data[1] % kWays);
  CorePatcher(*subject.core, subject.anatomy).apply(std::as_bytes(std::span(data, size).subspan(2)));
  const double start = cpu_seconds();
  const std::size_t hash = dump(subject, how, all.frames);
  const double taken = cpu_seconds() - start;
  if (taken > kMaxSeconds) {
    fmt::print(stderr, "a dump took {} s of CPU\n", taken);
    std::abort();
  }
  all.longest = std::max(all.longest, taken);
  all.seconds += taken;
  subject.core->restore();
  all.runs++;
  all.opened += hash != 0 ? 1 : 0;
  all.changed += hash != subject.whole_dump[how] ? 1 : 0;
  return 0;
}
