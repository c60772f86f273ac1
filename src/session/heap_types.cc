// Counts the objects of a heap by type, at one moment, with a short stop.
//
// Input: a process that runs (or a core), and a counter of its runtime. Output: counts by type and generation; or why
// there are none.
// Algorithm: between two collections objects neither move nor change their type; only allocation adds some, in
// generation 0, and in gaps among the large and pinned ones. So each region of generation 2 is copied while the process
// runs, in one read, and counted; the copy holds as long as no collection of generation 1 or above has begun. All that
// is young, what has changed, and the headers of large objects are read in a stop that does not fall into a collection.
// Then the process runs on, and the copies are walked: each must end exactly where its region does.
// Order: look; copy what is old (not where all of it is little); then by the protocol of heap_stops.h: stop, read, let
// run, walk. Where the walk fails (an object was just being made) or the stop was too long, all again.
// Bounds: those of the protocol, and the pause that is allowed: what would take longer is refused before the stop, or
// given up in it. Our own memory: KeptRegions::kLargest for a region that is copied while the process runs, kMostCopied
// for what is read in a stop, and half of what this machine, our cgroup and ulimit -v have left.
#include "session/heap_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "process/debugger/debug_session.h"
#include "session/heap_stops.h"
#include "session/own_memory.h"
#include "session/stop_words.h"

namespace mixstack::session {
namespace {

using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;
using dotnet::objects::RegionCount;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestWait{5};
constexpr milliseconds kPoll{3};
constexpr std::uint64_t kLittle = 16 << 20;                    // of old objects: copied in the stop
constexpr std::uint64_t kMostCopied = std::uint64_t{2} << 30;  // bytes of our own memory
constexpr std::size_t kPiece = 1 << 20, kHeader = 64;

HeapTypes refused(std::string why) {
  HeapTypes out;
  out.why_not = std::move(why);
  return out;
}

bool is_copied_in_stop(const GcRegion& r) { return r.generation != HeapGeneration::large; }

/// A process that runs.
class LiveCount final : public HeapTask {
 public:
  explicit LiveCount(const TypeCounting& of)
      : of_(of),
        collector_(of.counter),
        stops_({of.memory, collector_, of.old_collections, [this](milliseconds most) { return hold(most); },
                of.options.most_pause}) {}

  HeapTypes count() {
    if (of_.options.old_only) return old_alone();
    auto session = process::DebugSession::open();
    if (!session) return refused(stop_words(session.error()));
    auto process = (*session)->attach(of_.pid);
    if (!process) return refused(stop_words(process.error()));
    process_ = *process;
    HeapTypes out = stops_.run(*this) ? told() : refused(stops_.why());
    process_.reset();
    out.pause = stops_.pause();
    out.stops = stops_.stops();
    return out;
  }

  /// False: the heap cannot be seen, or a stop would take too long.
  bool prepare() override {
    const auto gc = copy_old(kLittle);
    if (!gc) return false;
    std::uint64_t in_stop = 0;
    for (const GcRegion& r : gc->regions)
      if (is_copied_in_stop(r) && kept_.find(r, stops_.epoch()) == nullptr) in_stop += r.objects.size();
    const std::uint64_t most = std::min(stops_.most_bytes(), kMostCopied);
    if (in_stop > most) {
      stops_.refuse(
          fmt::format("{} MB would have to be read in one stop, more than can be read in {} ms (--most-pause)",
                      in_stop >> 20, of_.options.most_pause.count()));
      return false;
    }
    constexpr std::uint64_t kRoom = 8 << 20;
    const std::uint64_t allowed = memory_to_take(), wanted = std::min(most, in_stop + in_stop / 2 + kRoom);
    if (wanted > allowed + copies_.capacity()) {
      stops_.refuse(
          fmt::format("it would take {} MB of our own memory, and {} MB are allowed (half of what is left here)",
                      wanted >> 20, allowed >> 20));
      return false;
    }
    // All of it is written to before the stop, so that no page is missing in it.
    copies_.assign(static_cast<std::size_t>(wanted), std::byte{1});
    return true;
  }

  Outcome read(const MemoryReader& still, GcRegions&& gc, Time end) override {
    now_ = std::move(gc);
    const auto epoch = stops_.epoch_in_stop(still);
    if (steady_clock::now() > end) return Outcome::late;
    parts_.clear();
    used_ = 0;
    const auto headers = dotnet::objects::bytes_of(of_.memory, kHeader);
    for (const GcRegion& r : now_.regions) {
      if (r.objects.empty()) continue;
      Part part{r};
      if (!is_copied_in_stop(r)) {
        part.count = of_.counter.count(r, {}, headers);
      } else if (const RegionCount* k = KeptRegions<RegionCount>::is_old(r) ? kept_.find(r, epoch) : nullptr) {
        part.kept = k;
      } else if (!copy(part, end)) {
        return Outcome::late;
      }
      parts_.push_back(std::move(part));
      if (steady_clock::now() > end) return Outcome::late;
    }
    return Outcome::done;
  }

  bool walk() override {
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
        stops_.refuse(words_of_end(count.end, count.at, part.region.generation));
        return false;
      }
      of_.counter.add(part.region, count);
    }
    return true;
  }

 private:
  /// A region of the stop: counted by an earlier copy, counted in the stop, or copied in it.
  struct Part {
    GcRegion region;
    const RegionCount* kept = nullptr;
    RegionCount count{};
    std::size_t offset = 0;  ///< of its copy
    bool is_copied = false;
  };

  Result<std::shared_ptr<void>> hold(milliseconds most) {
    auto hold = process_->stop({}, most);
    if (!hold) return fail(hold.error());
    return std::shared_ptr<void>(std::make_shared<process::ThreadHold>(std::move(*hold)));
  }

  /// Copies what is old while the process runs. Nothing: the heap cannot be seen.
  std::optional<GcRegions> copy_old(std::uint64_t little) {
    auto gc = stops_.look();
    if (!gc) return std::nullopt;
    const auto at = [&](HeapGeneration g) { return gc->bytes.at(static_cast<std::size_t>(g)); };
    if (at(HeapGeneration::two) + at(HeapGeneration::frozen) <= little) return gc;
    const auto count = [&](const GcRegion& r, const dotnet::objects::HeapBytes& bytes) {
      return of_.counter.count(r, {}, bytes);
    };
    return kept_.keep_old(stops_, std::move(*gc), count, [](const GcRegions&) { return true; });
  }

  /// Old objects alone, without a stop.
  HeapTypes old_alone() {
    const auto begin = steady_clock::now();
    while (of_.counter.is_in_background(of_.memory)) {
      if (steady_clock::now() - begin > kLongestWait) return refused("a background collection did not end");
      std::this_thread::sleep_for(kPoll);
    }
    const auto gc = copy_old(0);
    if (!gc) return refused(stops_.why());
    const auto now = stops_.epoch();
    of_.counter.clear();
    for (const GcRegion& r : gc->regions) {
      if (!KeptRegions<RegionCount>::is_old(r) || r.objects.empty()) continue;
      const RegionCount* const k = kept_.find(r, now);
      if (k == nullptr) return refused("collections came while generation 2 was read");
      of_.counter.add(r, *k);
    }
    HeapTypes out = of_.counter.take(*gc);
    out.is_exact = true;
    return out;
  }

  /// False: the time is over, or the copies are full.
  bool copy(Part& part, Time end) {
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

  HeapTypes told() {
    HeapTypes out = of_.counter.take(now_);
    out.copied_in_stop = used_;
    out.is_exact = !stops_.sweeps();
    if (!out.is_exact) out.why_not = "a background collection sweeps: some of what it has freed may be counted";
    return out;
  }

  const TypeCounting& of_;
  CollectorOf<dotnet::objects::HeapCounter> collector_;
  HeapStops stops_;
  std::shared_ptr<process::DebuggedProcess> process_;
  KeptRegions<RegionCount> kept_;
  std::vector<std::byte> copies_;
  std::size_t used_ = 0;
  GcRegions now_;  ///< of the last stop
  std::vector<Part> parts_;
};

}  // namespace

HeapTypes count_heap_types(const TypeCounting& of) {
  constexpr std::uint64_t kOfText = 80, kFewest = 1 << 14;  // bytes of our own memory, with all copies; texts
  if (of.options.elements)
    of.counter.watch_elements(of.options.data, static_cast<std::size_t>(std::max(memory_to_take() / kOfText, kFewest)));
  return of.is_frozen ? count_core_types(of) : LiveCount(of).count();
}

}  // namespace mixstack::session
