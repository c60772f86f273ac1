// Summary of the running code of a process, from samples of its stacks.
// Input: a Recording, and for which share of the time each thread stopped the runtime's others. Output: Busyness:
// samples by kind of code, by thread, and the hottest functions.
// Algorithm: (1) each sample of a running or runnable thread gets one kind, from the innermost frames outwards: the JIT
// and the collector win over the runtime that they call, and managed code ends the search; threads that only collect or
// compile are known by name. (2) Its functions are counted: self, total (once a sample, however deep the recursion),
// and for code of the program all that ran on its behalf. (3) Samples of the runtime are moved to the collector for the
// time that the thread stopped the others, since a runtime without symbols does not show which is which. (4) Sort.
// Bounds: linear in frames of all samples; kMostBusyFunctions functions, each with at least 1 % of the samples.
#include "features/why/busyness.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_map>

#include "dotnet/bcl/locks.h"

namespace mixstack::why {
namespace {

/// Threads that only collect or only compile (names of src/coreclr/gc and vm, cut as the kernel cuts them).
constexpr std::string_view kCollectors[] = {".NET Server GC", ".NET BGC"};
constexpr std::string_view kCompilers[] = {".NET Tiered Com"};

bool starts_with_any(std::string_view name, std::span<const std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](auto start) { return name.starts_with(start); });
}

std::string_view module_of(const Recording& recording, const RecordedFunction& function) {
  return function.module == kNoIndex ? std::string_view() : std::string_view(recording.modules()[function.module].name);
}

bool is_collectors(std::string_view module, const RecordedFunction& function) {
  const std::string_view name = function.name;
  return module.starts_with("libclrgc") || name.starts_with("WKS::") || name.starts_with("SVR::") ||
         name.find("gc_heap::") != std::string_view::npos;
}

/// The kind that one native frame shows; `native`: none. Its native callers may show more (`says_more`).
BusyKind native_kind(std::string_view module, const RecordedFunction& function) {
  if (module.starts_with("libclrjit")) return BusyKind::jit;
  if (is_collectors(module, function)) return BusyKind::gc;
  if (function.kind == CodeKind::runtime) return BusyKind::runtime;
  if (module.starts_with("libSystem.")) return BusyKind::framework;
  // Also where the runtime yields for a method of the class library that was inlined.
  const auto has = [&](std::string_view part) { return function.name.find(part) != std::string::npos; };
  if (has("pthread_spin_lock") || function.name.ends_with("sched_yield")) return BusyKind::lock_spinning;
  return BusyKind::native;
}

/// A library of the program's or the system's: none of .NET's, and not the C library, which all others call.
bool is_other_library(std::string_view module, const RecordedFunction& function) {
  constexpr std::string_view kCommon[] = {"libc.",     "libc-",    "ld-", "libpthread", "libm.",
                                          "libstdc++", "libgcc_s", "[",   "libSystem."};
  return function.kind == CodeKind::native && !module.empty() && !starts_with_any(module, kCommon) &&
         !is_collectors(module, function);
}

/// The JIT and the collector call the runtime, too: their frames count more than its own.
bool says_more(BusyKind kind, BusyKind than) {
  const auto rank = [](BusyKind k) {
    if (k == BusyKind::jit || k == BusyKind::gc) return 3;
    if (k == BusyKind::lock_spinning) return 2;
    return k == BusyKind::runtime || k == BusyKind::framework ? 1 : 0;
  };
  return rank(kind) > rank(than);
}

}  // namespace

BusyKind kind_of(const Recording& recording, std::span<const std::uint32_t> frames) {
  bool is_in_kernel = false, has_native = false, is_other = false;
  BusyKind kind = BusyKind::native;
  for (const std::uint32_t number : frames) {
    const RecordedFunction& function = recording.functions()[recording.frames()[number].function];
    if (function.kind == CodeKind::kernel) {
      is_in_kernel = true;
      continue;
    }
    if (function.kind == CodeKind::stub || function.kind == CodeKind::unknown) continue;
    if (function.kind == CodeKind::managed) {
      const bool is_told = kind == BusyKind::jit || kind == BusyKind::gc || kind == BusyKind::lock_spinning;
      if (is_told) return kind;
      if (starts_with_any(function.name, dotnet::bcl::kSpinning)) return BusyKind::lock_spinning;
      if (is_in_kernel && kind != BusyKind::runtime) return BusyKind::kernel;
      if (has_native) return kind;
      return function.is_user ? BusyKind::program : BusyKind::framework;
    }
    has_native = true;
    const BusyKind of_this = native_kind(module_of(recording, function), function);
    is_other = is_other || is_other_library(module_of(recording, function), function);
    // Calls that .NET's libraries only hand on are not theirs.
    if (says_more(of_this, kind) && !(is_other && of_this == BusyKind::framework)) kind = of_this;
  }
  return is_in_kernel && (kind == BusyKind::native || kind == BusyKind::framework) ? BusyKind::kernel : kind;
}

namespace {

class Counter {
 public:
  Counter(const Recording& recording, const std::set<std::uint32_t>& pausing)
      : recording_(recording),
        pausing_(pausing),
        functions_(recording.functions().size()),
        threads_(recording.threads().size()),
        seen_(recording.functions().size(), 0) {}

  void count(const Sample& sample) {
    const SampleContext& context = recording_.contexts()[sample.context];
    if (context.activity != Activity::running && context.activity != Activity::runnable) return;
    const auto frames = recording_.frames_of(sample.stack);
    const RecordedThread& thread = recording_.threads()[context.thread];
    BusyKind kind = kind_of(recording_, frames);
    if (kind == BusyKind::runtime && pausing_.contains(frames.front())) kind = BusyKind::lock_spinning;
    if (starts_with_any(thread.comm, kCollectors)) kind = BusyKind::gc;
    if (starts_with_any(thread.comm, kCompilers)) kind = BusyKind::jit;
    PerThread& of = threads_[context.thread];
    of.all += sample.count;
    of.kinds[static_cast<std::size_t>(kind)] += sample.count;
    count_functions(frames, context.thread, kind, sample.count);
    if (kind == BusyKind::native) count_library(frames, sample.count);
    count_caller(frames, kind, sample.count);
  }

  /// Counts as collection the samples of the runtime that a thread took while it stopped the others.
  void move_collections(const std::map<std::uint32_t, double>& suspended_by) {
    for (std::size_t i = 0; i < threads_.size(); i++) {
      const auto told = suspended_by.find(recording_.threads()[i].tid);
      if (told == suspended_by.end()) continue;
      auto& runtime = threads_[i].kinds[static_cast<std::size_t>(BusyKind::runtime)];
      auto& gc = threads_[i].kinds[static_cast<std::size_t>(BusyKind::gc)];
      const double periods = told->second * periods_of_time();
      const auto collected = static_cast<std::uint64_t>(std::llround(std::max(periods, 0.0)));
      const std::uint64_t moved = std::min(runtime, collected - std::min(collected, gc));
      runtime -= moved;
      gc += moved;
      moved_ += moved;
    }
  }

  [[nodiscard]] Busyness result() const {
    Busyness busy;
    busy.duration_ns = recording_.facts.duration_ns;
    busy.source = recording_.facts.source;
    for (std::size_t i = 0; i < threads_.size(); i++) {
      const PerThread& of = threads_[i];
      if (of.all == 0) continue;
      busy.samples += of.all;
      for (std::size_t k = 0; k < kBusyKinds; k++) busy.kinds[k] += of.kinds[k];
      busy.threads.push_back(thread(static_cast<std::uint32_t>(i), of.all));
    }
    std::stable_sort(busy.threads.begin(), busy.threads.end(), has_more_samples);
    busy.functions = hottest(busy);
    if (const auto module = most_of(libraries_); module != kNoIndex) busy.library = recording_.modules()[module].name;
    if (const auto caller = caller_of_most(busy); caller != kNoIndex) busy.caller = shown_name(recording_, caller);
    return busy;
  }

 private:
  struct PerThread {
    std::uint64_t all = 0;
    std::array<std::uint64_t, kBusyKinds> kinds{};
  };
  struct PerFunction {
    std::uint64_t self = 0, total = 0;
    std::uint64_t caused = 0;                       ///< of the program's own code: with samples of its callees
    std::array<std::uint64_t, kBusyKinds> kinds{};  ///< of `self`
    std::unordered_map<std::uint32_t, std::uint64_t> threads;  ///< with it on the stack
    std::unordered_map<std::uint32_t, std::uint64_t> frames;
  };

  static bool has_more_samples(const BusyThread& a, const BusyThread& b) { return a.samples > b.samples; }

  [[nodiscard]] double periods_of_time() const {
    const auto hertz = std::max(recording_.facts.cpu_hertz, recording_.facts.wall_hertz);
    return static_cast<double>(recording_.facts.duration_ns) / 1e9 * hertz;
  }

  [[nodiscard]] BusyThread thread(std::uint32_t index, std::uint64_t samples) const {
    const RecordedThread& t = recording_.threads()[index];
    return {t.tid, t.name.empty() ? t.comm : t.name, samples};
  }

  void count_functions(std::span<const std::uint32_t> frames, std::uint32_t thread, BusyKind kind,
                       std::uint32_t count) {
    stamp_++;
    bool is_innermost = true, has_cause = false;
    for (const std::uint32_t number : frames) {
      const std::uint32_t f = recording_.frames()[number].function;
      PerFunction& of = functions_[f];
      if (is_innermost) {
        of.self += count;
        of.kinds[static_cast<std::size_t>(kind)] += count;
      }
      is_innermost = false;
      if (recording_.functions()[f].is_user && !has_cause) {
        has_cause = true;
        of.caused += count;
      }
      if (seen_[f] == stamp_) continue;
      seen_[f] = stamp_;
      of.total += count;
      of.threads[thread] += count;
      of.frames[number] += count;
    }
  }

  /// The library that runs, or that called the C library.
  void count_library(std::span<const std::uint32_t> frames, std::uint32_t count) {
    std::uint32_t module = kNoIndex;
    bool has_library = false;
    for (const std::uint32_t number : frames) {
      const RecordedFunction& function = recording_.functions()[recording_.frames()[number].function];
      if (is_of_program(function)) break;
      if (function.kind != CodeKind::native || function.module == kNoIndex) continue;
      const bool is_better = !has_library && is_other_library(module_of(recording_, function), function);
      if (module == kNoIndex || is_better) module = function.module;
      has_library = has_library || is_better;
    }
    if (module != kNoIndex) libraries_[module] += count;
  }

  static bool is_of_program(const RecordedFunction& function) {
    return function.is_user && function.kind == CodeKind::managed;
  }

  /// The innermost method of the program, on whose behalf other code runs.
  void count_caller(std::span<const std::uint32_t> frames, BusyKind kind, std::uint32_t count) {
    for (const std::uint32_t number : frames) {
      const std::uint32_t f = recording_.frames()[number].function;
      if (!is_of_program(recording_.functions()[f])) continue;
      callers_[static_cast<std::size_t>(kind)][f] += count;
      return;
    }
  }

  /// For the kind with most samples: half of them are below it. Native code tells in any case whom it works for most.
  [[nodiscard]] std::uint32_t caller_of_most(const Busyness& busy) const {
    const auto kind =
        static_cast<std::size_t>(std::max_element(busy.kinds.begin(), busy.kinds.end()) - busy.kinds.begin());
    const std::uint32_t caller = most_of(callers_[kind]);
    if (caller == kNoIndex || kind == static_cast<std::size_t>(BusyKind::program)) return kNoIndex;
    const bool is_native = kind == static_cast<std::size_t>(BusyKind::native);
    return is_native || callers_[kind].at(caller) * 2 >= busy.kinds[kind] ? caller : kNoIndex;
  }

  static std::uint32_t most_of(const std::unordered_map<std::uint32_t, std::uint64_t>& counts) {
    std::uint32_t found = kNoIndex;
    std::uint64_t most = 0;
    for (const auto& [index, count] : counts)
      if (count > most || (count == most && index < found)) {
        found = index;
        most = count;
      }
    return found;
  }

  [[nodiscard]] std::string place_of(const PerFunction& of) const {
    std::uint64_t most = 0;
    const RecordedFrame* at = nullptr;
    for (const auto& [number, count] : of.frames) {
      const RecordedFrame& frame = recording_.frames()[number];
      if (frame.file == kNoIndex || count < most || (count == most && at != nullptr && at->line <= frame.line))
        continue;
      most = count;
      at = &frame;
    }
    return at == nullptr ? std::string() : recording_.files()[at->file] + ":" + std::to_string(at->line);
  }

  /// The kind of most of its own samples; for a function that only calls others, the kind of its code.
  [[nodiscard]] BusyKind kind_of_function(std::uint32_t f, const Busyness& busy) const {
    const PerFunction& of = functions_[f];
    if (of.self == 0) {
      const RecordedFunction& function = recording_.functions()[f];
      if (function.kind == CodeKind::managed) return function.is_user ? BusyKind::program : BusyKind::framework;
      return function.kind == CodeKind::kernel ? BusyKind::kernel : BusyKind::native;
    }
    const auto most = static_cast<BusyKind>(std::max_element(of.kinds.begin(), of.kinds.end()) - of.kinds.begin());
    // Collections that were moved were counted as the runtime's.
    return most == BusyKind::runtime && moved_ > busy.of(BusyKind::runtime) ? BusyKind::gc : most;
  }

  [[nodiscard]] std::vector<BusyFunction> hottest(const Busyness& busy) const {
    const auto weight = [this](std::uint32_t f) { return std::max(functions_[f].self, functions_[f].caused); };
    std::vector<std::uint32_t> order;
    for (std::uint32_t f = 0; f < functions_.size(); f++)
      if (weight(f) * 100 >= busy.samples && weight(f) != 0) order.push_back(f);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return weight(a) > weight(b); });
    order.resize(std::min(order.size(), kMostBusyFunctions));
    std::vector<BusyFunction> list;
    for (const std::uint32_t f : order) {
      const PerFunction& of = functions_[f];
      BusyFunction& told = list.emplace_back();
      told.name = shown_name(recording_, f);
      told.place = place_of(of);
      told.kind = kind_of_function(f, busy);
      told.self = of.self;
      told.total = of.total;
      for (const auto& [index, count] : of.threads) told.threads.push_back(thread(index, count));
      std::sort(told.threads.begin(), told.threads.end(), [](const BusyThread& a, const BusyThread& b) {
        return a.samples != b.samples ? a.samples > b.samples : a.tid < b.tid;
      });
    }
    return list;
  }

  const Recording& recording_;
  const std::set<std::uint32_t>& pausing_;
  std::vector<PerFunction> functions_;
  std::vector<PerThread> threads_;
  std::vector<std::uint64_t> seen_;  ///< by function: the last sample that had it on the stack
  std::unordered_map<std::uint32_t, std::uint64_t> libraries_;                        ///< of samples of native code
  std::array<std::unordered_map<std::uint32_t, std::uint64_t>, kBusyKinds> callers_;  ///< of samples, by kind
  std::uint64_t stamp_ = 0;
  std::uint64_t moved_ = 0;  ///< from the runtime to collections
};

}  // namespace

Busyness busyness_of(const Recording& recording, const std::map<std::uint32_t, double>& suspended_by,
                     const std::set<std::uint32_t>& pausing) {
  Counter counter(recording, pausing);
  for (const Sample& sample : recording.samples()) counter.count(sample);
  counter.move_collections(suspended_by);
  return counter.result();
}

}  // namespace mixstack::why
