// Counts the objects of a heap by type, at one moment, with a short stop.
//
// Input: a process that runs (or a core), and a counter of its runtime. Output: counts by type and generation; or why
// there are none.
// Algorithm: between two collections objects neither move nor change their type; only allocation adds some, in
// generation 0, and in gaps among the large and pinned ones. So each region of generation 2 is copied while the process
// runs, in one read, and counted; the copy holds as long as no collection of generation 1 or above has begun. All that
// is young, what has changed, and the headers of large objects are read in a stop that does not fall into a collection.
// Then the process runs on, and the copies are walked: each must end exactly where its region does.
// Order: look; copy what is old (not where all of it is little); wait for the end of a collection; stop; read; let run;
// walk. Where the walk fails (an object was just being made) or the stop was too long, all again.
// Bounds: kMostAttempts attempts, kMostStops stops, kLongestWait for the end of a collection, kMostRounds of copies,
// and the pause that is allowed: what would take longer is refused before the stop, or given up in it. Our own memory:
// kLargestKept for a region that is copied while the process runs, kMostCopied for what is read in a stop, and half of
// what this machine, our cgroup and ulimit -v have left.
#include "session/heap_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/memory/cached_memory.h"
#include "dotnet/heap/page_store.h"
#include "process/debugger/debug_session.h"
#include "session/own_memory.h"
#include "session/stop_words.h"

namespace mixstack::session {
namespace {

using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;
using dotnet::objects::RegionCount;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMostAttempts = 5, kMostStops = 60, kMostRounds = 3, kMostTries = 20;
constexpr std::chrono::seconds kLongestWait{5};
constexpr std::chrono::microseconds kPoll{300};
constexpr milliseconds kBetweenAttempts{3};
constexpr std::uint64_t kLittle = 16 << 20;            // of old objects: copied in the stop
constexpr std::uint64_t kBytesAMillisecond = 4 << 20;  // nothing is copied faster
constexpr std::uint64_t kLargestKept = 512 << 20, kMostCopied = std::uint64_t{2} << 30;  // bytes of our own memory
constexpr std::size_t kPiece = 1 << 20, kHeader = 64;

bool is_old(const GcRegion& r) { return r.generation == HeapGeneration::two || r.generation == HeapGeneration::frozen; }

std::string words_of(const RegionCount& count, const GcRegion& region) {
  const char* why = count.end == RegionCount::End::unreadable ? "cannot be read"
                    : count.end == RegionCount::End::no_type  ? "has no known type"
                                                              : "does not end where its region does";
  return fmt::format("the object at {:#x} of generation {} {}", count.at, generation_name(region.generation), why);
}

HeapTypes refused(std::string why) {
  HeapTypes out;
  out.why_not = std::move(why);
  return out;
}

/// A process that runs.
class LiveCount {
 public:
  explicit LiveCount(const TypeCounting& of) : of_(of) {}

  HeapTypes count() {
    if (of_.options.old_only) return old_alone();
    auto session = process::DebugSession::open();
    if (!session) return refused(stop_words(session.error()));
    auto process = (*session)->attach(of_.pid);
    if (!process) return refused(stop_words(process.error()));
    process_ = *process;
    HeapTypes out = attempts();
    process_.reset();
    return out;
  }

 private:
  struct Kept {
    GcRegion region;
    RegionCount count;
    std::optional<std::uint64_t> epoch;
  };
  /// A region of the stop: counted by an earlier copy, counted in the stop, or copied in it.
  struct Part {
    GcRegion region;
    const RegionCount* kept = nullptr;
    RegionCount count{};
    std::size_t offset = 0;  ///< of its copy
    bool is_copied = false;
  };
  enum class Outcome : std::uint8_t { done, moving, late, failed };

  [[nodiscard]] std::optional<std::uint64_t> epoch() const {
    return of_.old_collections ? of_.old_collections() : std::nullopt;
  }

  /// Reads counters before a stop, for they may have to be looked for first.
  void note_epoch() {
    const auto before = of_.counter.collections(of_.memory);
    noted_epoch_ = epoch();
    noted_at_ = before == of_.counter.collections(of_.memory) ? before : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint64_t> epoch_in_stop(const MemoryReader& still) const {
    return noted_at_ && noted_at_ == of_.counter.collections(still) ? noted_epoch_ : epoch();
  }

  bool wait_for_quiet() const {
    const auto begin = steady_clock::now();
    while (of_.counter.is_moving(of_.memory)) {
      if (steady_clock::now() - begin > kLongestWait) return false;
      std::this_thread::sleep_for(kPoll);
    }
    return true;
  }

  std::optional<GcRegions> look() {
    for (int tries = 0; tries < kMostTries; tries++) {
      if (!wait_for_quiet()) {
        why_ = "a garbage collection did not end";
        return std::nullopt;
      }
      const memory::CachedMemory now(of_.memory);
      auto gc = of_.counter.regions(now);
      if (gc) return std::move(*gc);
      why_ = gc.error().text;
    }
    return std::nullopt;
  }

  [[nodiscard]] const Kept* kept(const GcRegion& region, std::optional<std::uint64_t> now) const {
    const auto it = kept_.find(region.objects.begin);
    if (!now || it == kept_.end()) return nullptr;
    const Kept& k = it->second;
    return k.epoch == now && k.region.objects == region.objects && k.region.generation == region.generation ? &k
                                                                                                            : nullptr;
  }

  /// Copies one old region in one read, between collections, and counts it.
  void keep(const GcRegion& region) {
    if (region.objects.size() > kLargestKept) return;
    if (region.objects.size() > buffer_.size() && region.objects.size() > memory_to_take()) return;
    buffer_.resize(std::max(buffer_.size(), static_cast<std::size_t>(region.objects.size())));
    for (int tries = 0; tries < kMostTries; tries++) {
      if (!wait_for_quiet()) return;
      const auto before = epoch();
      const bool swept = of_.counter.sweeps(of_.memory);
      const std::span<std::byte> bytes(buffer_.data(), static_cast<std::size_t>(region.objects.size()));
      if (!of_.memory.read_exact(region.objects.begin, bytes)) return;
      if (of_.counter.is_moving(of_.memory) || epoch() != before || !before) continue;
      RegionCount count = of_.counter.count(region, {}, dotnet::objects::bytes_of(region.objects.begin, bytes));
      if (count.end != RegionCount::End::whole) continue;
      sweeps_ = sweeps_ || swept;
      kept_[region.objects.begin] = {region, std::move(count), before};
      return;
    }
  }

  /// Copies what is old while the process runs. Nothing: the heap cannot be seen.
  std::optional<GcRegions> copy_old(std::uint64_t little) {
    auto gc = look();
    if (!gc) return std::nullopt;
    const auto at = [&](HeapGeneration g) { return gc->bytes.at(static_cast<std::size_t>(g)); };
    const bool is_little = at(HeapGeneration::two) + at(HeapGeneration::frozen) <= little;
    for (int round = 0; round < kMostRounds && !is_little && epoch(); round++) {
      bool all_held = true;
      for (const GcRegion& r : gc->regions) {
        if (!is_old(r) || r.objects.empty() || kept(r, epoch()) != nullptr) continue;
        all_held = false;
        keep(r);
      }
      if (all_held) break;
      gc = look();
      if (!gc) return std::nullopt;
    }
    return gc;
  }

  /// Old objects alone, without a stop.
  HeapTypes old_alone() {
    const auto begin = steady_clock::now();
    while (of_.counter.is_in_background(of_.memory)) {
      if (steady_clock::now() - begin > kLongestWait) return refused("a background collection did not end");
      std::this_thread::sleep_for(kBetweenAttempts);
    }
    const auto gc = copy_old(0);
    if (!gc) return refused(why_);
    const auto now = epoch();
    of_.counter.clear();
    for (const GcRegion& r : gc->regions) {
      if (!is_old(r) || r.objects.empty()) continue;
      const Kept* const k = kept(r, now);
      if (k == nullptr) return refused("collections came while generation 2 was read");
      of_.counter.add(r, k->count);
    }
    HeapTypes out = of_.counter.take(*gc);
    out.is_exact = true;
    return out;
  }

  /// False: the heap cannot be seen, or a stop would take too long.
  bool prepare() {
    const auto gc = copy_old(kLittle);
    if (!gc) return false;
    std::uint64_t in_stop = 0;
    for (const GcRegion& r : gc->regions)
      if (is_copied_in_stop(r) && kept(r, epoch()) == nullptr) in_stop += r.objects.size();
    const auto pause = static_cast<std::uint64_t>(std::max<std::int64_t>(of_.options.most_pause.count(), 0));
    const std::uint64_t most = std::min(pause, kMostCopied / kBytesAMillisecond) * kBytesAMillisecond;
    if (in_stop > most) {
      why_ = fmt::format("{} MB would have to be read in one stop, more than can be read in {} ms (--most-pause)",
                         in_stop >> 20, of_.options.most_pause.count());
      return false;
    }
    constexpr std::uint64_t kRoom = 8 << 20;
    const std::uint64_t allowed = memory_to_take(), wanted = std::min(most, in_stop + in_stop / 2 + kRoom);
    if (wanted > allowed + copies_.capacity()) {
      why_ = fmt::format("it would take {} MB of our own memory, and {} MB are allowed (half of what is left here)",
                         wanted >> 20, allowed >> 20);
      return false;
    }
    // All of it is written to before the stop, so that no page is missing in it.
    copies_.assign(static_cast<std::size_t>(wanted), std::byte{1});
    return true;
  }

  static bool is_copied_in_stop(const GcRegion& r) { return r.generation != HeapGeneration::large; }

  /// False: the time is over, or the copies are full.
  bool copy(Part& part, steady_clock::time_point end) {
    const auto size = static_cast<std::size_t>(part.region.objects.size());
    if (size > copies_.size() - used_) return false;
    part.offset = used_;
    for (std::size_t done = 0; done < size; done += std::min(kPiece, size - done)) {
      const std::span<std::byte> out(copies_.data() + used_ + done, std::min(kPiece, size - done));
      if (!of_.memory.read_exact(part.region.objects.begin + done, out)) return false;
      if (steady_clock::now() > end) return false;
    }
    part.is_copied = true;
    used_ += size;
    return true;
  }

  /// All that is read while the process stands still.
  Outcome read_all(steady_clock::time_point end) {
    const dotnet::objects::PageStore still(of_.memory);
    if (of_.counter.is_moving(still)) return Outcome::moving;
    auto gc = of_.counter.regions(still);
    if (!gc) {
      why_ = gc.error().text;
      return Outcome::failed;
    }
    now_ = std::move(*gc);
    sweeps_ = sweeps_ || of_.counter.sweeps(still);
    const auto epoch_now = epoch_in_stop(still);
    if (steady_clock::now() > end) return Outcome::late;
    parts_.clear();
    used_ = 0;
    const auto headers = dotnet::objects::bytes_of(of_.memory, kHeader);
    for (const GcRegion& r : now_.regions) {
      if (r.objects.empty()) continue;
      Part part{r};
      if (!is_copied_in_stop(r)) {
        part.count = of_.counter.count(r, {}, headers);
      } else if (const Kept* k = is_old(r) ? kept(r, epoch_now) : nullptr) {
        part.kept = &k->count;
      } else if (!copy(part, end)) {
        return Outcome::late;
      }
      parts_.push_back(std::move(part));
      if (steady_clock::now() > end) return Outcome::late;
    }
    return Outcome::done;
  }

  Outcome stop() {
    const auto begin = steady_clock::now();
    auto hold = process_->stop();
    if (!hold) {
      why_ = stop_words(hold.error());
      return Outcome::failed;
    }
    stops_++;
    const Outcome outcome = read_all(begin + of_.options.most_pause);
    hold->release();
    pause_ = std::max(pause_, std::chrono::nanoseconds(steady_clock::now() - begin));
    return outcome;
  }

  /// After the stop. False: some region was not as it must be.
  bool walk_all() {
    of_.counter.clear();
    for (Part& part : parts_) {
      if (part.is_copied) {
        const std::span<const std::byte> bytes(copies_.data() + part.offset,
                                               static_cast<std::size_t>(part.region.objects.size()));
        part.count =
            of_.counter.count(part.region, now_.contexts, dotnet::objects::bytes_of(part.region.objects.begin, bytes));
      }
      const RegionCount& count = part.kept != nullptr ? *part.kept : part.count;
      if (count.end != RegionCount::End::whole) {
        why_ = words_of(count, part.region);
        return false;
      }
      of_.counter.add(part.region, count);
    }
    return true;
  }

  HeapTypes told() {
    HeapTypes out = of_.counter.take(now_);
    out.pause = pause_;
    out.stops = stops_;
    out.copied_in_stop = used_;
    out.is_exact = !sweeps_;
    if (sweeps_) out.why_not = "a background collection sweeps: some of what it has freed may be counted";
    return out;
  }

  HeapTypes attempts() {
    for (int attempt = 0; attempt < kMostAttempts && stops_ < kMostStops; attempt++) {
      sweeps_ = false;
      if (attempt != 0) std::this_thread::sleep_for(kBetweenAttempts);
      if (!prepare()) break;
      Outcome outcome = Outcome::moving;
      while (outcome == Outcome::moving && stops_ < kMostStops) {
        if (!wait_for_quiet()) break;
        note_epoch();
        outcome = stop();
      }
      if (outcome == Outcome::done && walk_all()) return told();
      if (outcome == Outcome::moving) why_ = "a garbage collection was under way at each stop";
      if (outcome == Outcome::late)
        why_ =
            fmt::format("the stop would have lasted longer than {} ms (--most-pause)", of_.options.most_pause.count());
    }
    HeapTypes out = refused(why_);
    out.pause = pause_;
    out.stops = stops_;
    return out;
  }

  const TypeCounting& of_;
  std::shared_ptr<process::DebuggedProcess> process_;
  std::map<Address, Kept> kept_;
  std::vector<std::byte> buffer_, copies_;
  std::size_t used_ = 0;
  GcRegions now_;  ///< of the last stop
  std::vector<Part> parts_;
  std::optional<std::uint64_t> noted_epoch_, noted_at_;  ///< and the count of all collections then
  std::string why_;
  bool sweeps_ = false;
  std::chrono::nanoseconds pause_{0};
  std::uint32_t stops_ = 0;
};

HeapTypes count_core(const TypeCounting& of) {
  if (of.counter.is_moving(of.memory))
    return refused("the core was taken during a garbage collection, in which objects are moved");
  const auto gc = of.counter.regions(of.memory);
  if (!gc) return refused(gc.error().text);
  const auto bytes = dotnet::objects::bytes_of(of.memory, kPiece);
  std::size_t torn = 0;
  std::string why;
  for (const GcRegion& r : gc->regions) {
    if (r.objects.empty()) continue;
    const RegionCount count = of.counter.count(r, gc->contexts, bytes);
    of.counter.add(r, count);
    if (count.end == RegionCount::End::whole) continue;
    if (torn++ == 0) why = words_of(count, r);
  }
  HeapTypes out = of.counter.take(*gc);
  out.is_exact = torn == 0;
  if (torn != 0)
    out.why_not =
        fmt::format("{} of {} regions could not be followed to their ends: {}", torn, gc->regions.size(), why);
  return out;
}

}  // namespace

HeapTypes count_heap_types(const TypeCounting& of) {
  constexpr std::uint64_t kOfText = 80, kFewest = 1 << 14;  // bytes of our own memory, with all copies; texts
  if (of.options.elements)
    of.counter.watch_elements(of.options.data, static_cast<std::size_t>(std::max(memory_to_take() / kOfText, kFewest)));
  return of.is_frozen ? count_core(of) : LiveCount(of).count();
}

}  // namespace mixstack::session
