// Reads a heap at one moment for the question of who holds its objects.
//
// Input: a process that runs (or a core). Output: regions, copies of all objects that may refer to others, and roots,
// of one moment; then what HolderReader finds in them. Algorithm: references change at any time and leave no trace, so
// all of them are copied in one stop. The rest need not be: between two collections objects neither move nor change
// their type. So each region of generation 2 is walked while the process runs, from one read between collections, and
// tells which of its bytes belong to objects that may refer to others; only these are copied in the stop. All that is
// young is copied whole; of large and pinned objects the headers are read, and the bytes of those that may refer.
// Order: look; walk what is old; say how long a stop would be, or refuse; wait for the end of a collection; stop; copy;
// let run; walk the copies, which must end exactly where their regions do; else all again.
// Bounds: kMostAttempts attempts, kMostStops stops, kLongestWait for the end of a collection, the pause that is
// allowed, and the memory that is allowed, of which the copies are a part.
#include "session/heap_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/memory/process_memory.h"
#include "base/system/small_file.h"
#include "dotnet/heap/page_store.h"
#include "process/debugger/debug_session.h"
#include "session/own_memory.h"
#include "session/stop_words.h"

namespace mixstack::session {
namespace {

using dotnet::holders::HeapMoment;
using dotnet::holders::RegionObjects;
using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;
using End = dotnet::objects::RegionCount::End;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMostAttempts = 5, kMostStops = 60, kMostTries = 20, kMostRounds = 3;
constexpr std::chrono::seconds kLongestWait{5};
constexpr std::chrono::microseconds kPoll{300};
constexpr milliseconds kBetweenAttempts{3};
constexpr std::uint64_t kBytesAMillisecond = 4 << 20;  // nothing is copied faster
constexpr std::size_t kPiece = 1 << 20, kHeader = 64;
constexpr std::uint64_t kLargestRead = 512 << 20;                // of our own memory, for a region that is walked
constexpr std::uint64_t kMostStack = 1 << 20, kRoom = 16 << 20;  // of one thread; of what comes before the stop

bool is_old(const GcRegion& r) { return r.generation == HeapGeneration::two || r.generation == HeapGeneration::frozen; }
bool is_large(const GcRegion& r) {
  return r.generation == HeapGeneration::large || r.generation == HeapGeneration::pinned;
}

std::string words_of(const RegionObjects& objects, HeapGeneration generation) {
  const char* why = objects.end == End::unreadable ? "cannot be read"
                    : objects.end == End::no_type  ? "has no known type"
                                                   : "does not end where its region does";
  return fmt::format("the object at {:#x} of generation {} {}", objects.at, generation_name(generation), why);
}

HeapHolders refused(std::string why) {
  HeapHolders out;
  out.why_not = std::move(why);
  return out;
}

std::uint64_t all_bytes(const GcRegions& gc) {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : gc.bytes) sum += bytes;
  return sum;
}

std::string too_much_memory(std::uint64_t wanted, std::uint64_t allowed) {
  return fmt::format("it would take {} MB of our own memory, and {} MB are allowed (half of what is left here)",
                     wanted >> 20, allowed >> 20);
}

/// A process that runs.
class LiveHolders {
 public:
  LiveHolders(const HolderSearch& of, std::uint64_t most_memory)
      : of_(of), memory_(of.target.memory()), most_memory_(most_memory) {}

  HeapHolders find() {
    auto session = process::DebugSession::open();
    if (!session) return refused(stop_words(session.error()));
    auto process = (*session)->attach(of_.target.info().pid);
    if (!process) return refused(stop_words(process.error()));
    process_ = *process;
    HeapHolders out = attempts();
    process_.reset();
    out.pause = pause_;
    out.stops = stops_;
    out.copied_in_stop = copied_;
    if (sweeps_ && out.is_exact) {
      out.is_exact = false;
      out.why_not = "a background collection sweeps: some of what it has freed may be counted";
    }
    return out;
  }

 private:
  struct Kept {
    GcRegion region;
    RegionObjects objects;
    std::optional<std::uint64_t> epoch;
  };
  enum class Outcome : std::uint8_t { done, moving, late, failed };

  [[nodiscard]] std::optional<std::uint64_t> epoch() const {
    return of_.old_collections ? of_.old_collections() : std::nullopt;
  }

  bool wait_for_quiet() const {
    const auto begin = steady_clock::now();
    while (of_.reader.is_moving(memory_)) {
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
      const memory::CachedMemory now(memory_);
      auto gc = of_.reader.regions(now);
      if (gc) return std::move(*gc);
      why_ = gc.error().text;
    }
    return std::nullopt;
  }

  [[nodiscard]] Kept* kept(const GcRegion& region, std::optional<std::uint64_t> now) {
    const auto it = kept_.find(region.objects.begin);
    if (!now || it == kept_.end()) return nullptr;
    Kept& k = it->second;
    return k.epoch == now && k.region.objects == region.objects && k.region.generation == region.generation ? &k
                                                                                                            : nullptr;
  }

  /// Walks one old region while the process runs.
  void keep(const GcRegion& region) {
    if (region.objects.size() > kLargestRead) return;
    buffer_.resize(std::max(buffer_.size(), static_cast<std::size_t>(region.objects.size())));
    for (int tries = 0; tries < kMostTries; tries++) {
      if (!wait_for_quiet()) return;
      const auto before = epoch();
      const bool swept = of_.reader.sweeps(memory_);
      const std::span<std::byte> bytes(buffer_.data(), static_cast<std::size_t>(region.objects.size()));
      if (!memory_.read_exact(region.objects.begin, bytes)) return;
      if (of_.reader.is_moving(memory_) || epoch() != before || !before) continue;
      RegionObjects objects = of_.reader.walk(region, {}, dotnet::objects::bytes_of(region.objects.begin, bytes));
      if (objects.end != End::whole) continue;
      sweeps_ = sweeps_ || swept;
      Kept& kept = kept_[region.objects.begin];
      kept_objects_ += objects.shapes.size() - kept.objects.shapes.size();
      kept = {region, std::move(objects), before};
      return;
    }
  }

  /// Bytes of a region that would be copied in a stop.
  std::uint64_t to_copy(const GcRegion& r, std::optional<std::uint64_t> now) {
    if (const Kept* k = is_old(r) ? kept(r, now) : nullptr; k != nullptr) return k->objects.referring_bytes();
    if (!is_large(r)) return r.objects.size();
    const auto headers = dotnet::objects::bytes_of(memory_, kHeader);
    const RegionObjects objects = of_.reader.walk(r, {}, headers);
    return objects.end == End::whole ? objects.referring_bytes() : r.objects.size();
  }

  /// Walks what is old while the process runs. False: the heap cannot be seen, or a stop would be too long.
  bool prepare() {
    auto gc = look();
    if (!gc || !is_within_memory(*gc)) return false;
    for (int round = 0; round < kMostRounds && epoch(); round++) {
      bool all_held = true;
      for (const GcRegion& r : gc->regions) {
        if (!is_old(r) || r.objects.empty() || kept(r, epoch()) != nullptr) continue;
        all_held = false;
        keep(r);
        if (!is_within_memory(*gc)) return false;
      }
      if (all_held) break;
      gc = look();
      if (!gc) return false;
    }
    return may_stop(*gc);
  }

  /// With what was walked so far.
  bool is_within_memory(const GcRegions& gc) {
    const std::uint64_t wanted = dotnet::holders::HolderReader::memory_for(kept_objects_, all_bytes(gc));
    if (wanted > most_memory_) why_ = too_much_memory(wanted, most_memory_);
    return wanted <= most_memory_;
  }

  bool may_stop(const GcRegions& gc) {
    std::uint64_t in_stop = 0;
    const auto now = epoch();
    for (const GcRegion& r : gc.regions) in_stop += r.objects.empty() ? 0 : to_copy(r, now);
    const auto pause = static_cast<std::uint64_t>(std::max<std::int64_t>(of_.options.most_pause.count(), 0));
    if (in_stop > pause * kBytesAMillisecond) {
      why_ = fmt::format(
          "{} MB would have to be read in one stop, more than can be read in {} ms; --most-pause {}ms would allow it",
          in_stop >> 20, of_.options.most_pause.count(), in_stop / kBytesAMillisecond * 3 / 2 + 10);
      return false;
    }
    const std::uint64_t room = in_stop + in_stop / 4 + kRoom;
    constexpr std::uint64_t kLeastObject = 24;
    const std::uint64_t objects = std::max(kept_objects_, all_bytes(gc) / (4 * kLeastObject));
    const std::uint64_t wanted = room + dotnet::holders::HolderReader::memory_for(objects, all_bytes(gc));
    if (wanted > most_memory_) {
      why_ = too_much_memory(wanted, most_memory_);
      return false;
    }
    of_.reader.image().clear();
    of_.reader.image().reserve(static_cast<std::size_t>(room));
    return true;
  }

  /// False: the time is over, or there is no room.
  bool copy(AddressRange range, steady_clock::time_point end) {
    const std::span<std::byte> out = of_.reader.image().add(range);
    if (out.size() != range.size()) return false;
    for (std::size_t done = 0; done < out.size(); done += std::min(kPiece, out.size() - done)) {
      if (!memory_.read_exact(range.begin + done, out.subspan(done, std::min(kPiece, out.size() - done)))) return false;
      if (steady_clock::now() > end) return false;
    }
    copied_ += out.size();
    return true;
  }

  /// Many little pieces with few system calls, where the memory can.
  bool copy_all(std::span<const AddressRange> ranges, steady_clock::time_point end) {
    const auto* bulk = dynamic_cast<const memory::BulkMemory*>(&memory_);
    if (bulk == nullptr)
      return std::all_of(ranges.begin(), ranges.end(), [&](const AddressRange& r) { return copy(r, end); });
    constexpr std::size_t kBatch = 1024;
    std::vector<memory::RangeRead> reads;
    for (std::size_t i = 0; i < ranges.size(); i++) {
      const std::span<std::byte> out = of_.reader.image().add(ranges[i]);
      if (out.size() != ranges[i].size()) return false;
      reads.push_back({ranges[i].begin, out});
      if (reads.size() < kBatch && i + 1 < ranges.size()) continue;
      bulk->read_ranges(reads);
      for (const memory::RangeRead& read : reads) {
        if (read.done != read.out.size()) return false;
        copied_ += read.done;
      }
      reads.clear();
      if (steady_clock::now() > end) return false;
    }
    return true;
  }

  Outcome read_regions(const MemoryReader& still, steady_clock::time_point end) {
    const auto now = noted_at_ && noted_at_ == of_.reader.collections(still) ? noted_epoch_ : epoch();
    const auto headers = dotnet::objects::bytes_of(memory_, kHeader);
    parts_.clear();
    for (const GcRegion& r : now_.gc.regions) {
      if (r.objects.empty()) continue;
      Part part{r, nullptr, {}};
      if (is_large(r)) {
        part.objects = of_.reader.walk(r, {}, headers);
        if (!copy_all(part.objects.referring, end)) return Outcome::late;
      } else if (Kept* k = is_old(r) ? kept(r, now) : nullptr; k != nullptr) {
        part.kept = k;
        if (!copy_all(k->objects.referring, end)) return Outcome::late;
      } else {
        part.is_copied = true;
        if (!copy(r.objects, end)) return Outcome::late;
      }
      parts_.push_back(std::move(part));
      if (steady_clock::now() > end) return Outcome::late;
    }
    return Outcome::done;
  }

  /// Words of stacks and registers of threads that run managed code, or have.
  void read_stacks(const MemoryReader& still) {
    const auto stacks = dotnet::holders::HolderReader::stacks(of_.reader.memory().with(still));
    const auto tids = process_->threads();
    if (!tids) return;
    for (const ThreadId tid : *tids) {
      const auto set = process_->registers(tid);
      if (!set) continue;
      const Address sp = set->registers.sp();
      const auto stack = std::find_if(stacks.begin(), stacks.end(), [&](const auto& s) { return s.contains(sp); });
      if (stack == stacks.end()) continue;
      dotnet::holders::ThreadWords words{tid, {}, {}};
      words.words.resize(static_cast<std::size_t>(std::min<std::uint64_t>(stack->end - sp, kMostStack) / 8));
      const auto n = memory_.read_some(sp & ~Address{7}, std::as_writable_bytes(std::span(words.words)));
      words.words.resize(n ? *n / 8 : 0);
      for (unsigned i = 0; i < Registers::kMax; i++)
        if (const auto value = set->registers.get(i)) words.words.push_back(*value);
      now_.roots.stacks.push_back(std::move(words));
    }
  }

  /// All that is read while the process stands still.
  Outcome read_all(steady_clock::time_point end) {
    const dotnet::objects::PageStore still(memory_);
    if (of_.reader.is_moving(still)) return Outcome::moving;
    auto gc = of_.reader.regions(still);
    if (!gc) {
      why_ = gc.error().text;
      return Outcome::failed;
    }
    now_ = {};
    now_.gc = std::move(*gc);
    missing_.clear();
    sweeps_ = sweeps_ || of_.reader.sweeps(still);
    of_.reader.image().clear();
    copied_ = 0;
    now_.roots = of_.reader.roots(still, missing_);
    read_stacks(still);
    return read_regions(still, end);
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
    of_.reader.image().sort();
    for (Part& part : parts_) {
      if (part.is_copied) {
        const auto bytes = of_.reader.image().bytes_at(part.region.objects.begin, part.region.objects.size());
        part.objects =
            of_.reader.walk(part.region, now_.gc.contexts, dotnet::objects::bytes_of(part.region.objects.begin, bytes));
      }
      const RegionObjects& objects = part.kept != nullptr ? part.kept->objects : part.objects;
      if (objects.end == End::whole) continue;
      why_ = words_of(objects, part.region.generation);
      return false;
    }
    for (Part& part : parts_)
      now_.regions.push_back(std::move(part.kept != nullptr ? part.kept->objects : part.objects));
    kept_.clear();
    kept_objects_ = 0;
    buffer_ = {};
    return true;
  }

  HeapHolders found() {
    of_.reader.image().set_moving(now_.gc.bounds);
    for (auto& t : now_.roots.stacks)
      t.name = base::line_at(fmt::format("/proc/{}/task/{}/comm", of_.target.info().pid, t.tid));
    std::uint64_t objects = 0;
    for (const RegionObjects& r : now_.regions) objects += r.shapes.size();
    const std::uint64_t wanted =
        of_.reader.image().used() + dotnet::holders::HolderReader::memory_for(objects, all_bytes(now_.gc));
    if (wanted > most_memory_) return refused(too_much_memory(wanted, most_memory_));
    HeapHolders out = of_.reader.find(std::move(now_), of_.options);
    if (!missing_.empty() && out.is_exact) {
      out.is_exact = false;
      out.why_not = missing_;
    }
    return out;
  }

  HeapHolders attempts() {
    for (int attempt = 0; attempt < kMostAttempts && stops_ < kMostStops; attempt++) {
      sweeps_ = false;
      if (attempt != 0) std::this_thread::sleep_for(kBetweenAttempts);
      if (!prepare()) break;
      Outcome outcome = Outcome::moving;
      while (outcome == Outcome::moving && stops_ < kMostStops) {
        if (!wait_for_quiet()) break;
        const auto before = of_.reader.collections(memory_);
        noted_epoch_ = epoch();
        noted_at_ = before == of_.reader.collections(memory_) ? before : std::nullopt;
        outcome = stop();
      }
      if (outcome == Outcome::done && walk_all()) return found();
      if (outcome == Outcome::moving) why_ = "a garbage collection was under way at each stop";
      if (outcome == Outcome::late)
        why_ =
            fmt::format("the stop would have lasted longer than {} ms (--most-pause)", of_.options.most_pause.count());
    }
    return refused(why_);
  }

  /// A region of the stop.
  struct Part {
    GcRegion region;
    Kept* kept = nullptr;
    RegionObjects objects;
    bool is_copied = false;
  };

  const HolderSearch& of_;
  const MemoryReader& memory_;
  std::uint64_t most_memory_;
  std::shared_ptr<process::DebuggedProcess> process_;
  std::map<Address, Kept> kept_;
  std::uint64_t kept_objects_ = 0;
  std::vector<std::byte> buffer_;
  HeapMoment now_;  ///< of the last stop
  std::vector<Part> parts_;
  std::optional<std::uint64_t> noted_epoch_, noted_at_;  ///< and the count of all collections then
  std::string why_, missing_;
  bool sweeps_ = false;
  std::chrono::nanoseconds pause_{0};
  std::uint32_t stops_ = 0;
  std::uint64_t copied_ = 0;
};

/// Words of stacks as the core has them.
void add_stacks(Target& target, const dotnet::RuntimeMemory& memory, HeapMoment& moment) {
  const auto stacks = dotnet::holders::HolderReader::stacks(memory);
  CaptureRequest request;
  request.initial_stack_bytes = kMostStack;
  const auto capture = target.capture(request);
  if (!capture) return;
  for (const ThreadCapture& t : capture->threads) {
    const Address sp = t.registers.sp();
    const auto stack = std::find_if(stacks.begin(), stacks.end(), [&](const auto& s) { return s.contains(sp); });
    if (!t.captured || stack == stacks.end()) continue;
    dotnet::holders::ThreadWords words{t.tid, t.comm, {}};
    words.words.resize(static_cast<std::size_t>(std::min<std::uint64_t>(stack->end - sp, kMostStack) / 8));
    const auto n = memory.reader().read_some(sp & ~Address{7}, std::as_writable_bytes(std::span(words.words)));
    words.words.resize(n ? *n / 8 : 0);
    for (unsigned i = 0; i < Registers::kMax; i++)
      if (const auto value = t.registers.get(i)) words.words.push_back(*value);
    moment.roots.stacks.push_back(std::move(words));
  }
}

HeapHolders find_in_core(const HolderSearch& of, std::uint64_t most_memory) {
  const MemoryReader& memory = of.target.memory();
  if (of.reader.is_moving(memory))
    return refused("the core was taken during a garbage collection, in which objects are moved");
  auto gc = of.reader.regions(memory);
  if (!gc) return refused(gc.error().text);
  HeapMoment moment;
  moment.gc = std::move(*gc);
  const auto bytes = dotnet::objects::bytes_of(memory, kPiece);
  std::uint64_t objects = 0, walked = 0, torn = 0;
  std::string why;
  for (const GcRegion& r : moment.gc.regions) {
    if (r.objects.empty()) continue;
    walked += r.objects.size();
    const std::uint64_t wanted = dotnet::holders::HolderReader::memory_for(objects, walked);
    if (wanted > most_memory) return refused(too_much_memory(wanted, most_memory));
    RegionObjects found = of.reader.walk(r, moment.gc.contexts, bytes);
    objects += found.shapes.size();
    if (found.end != End::whole && torn++ == 0) why = words_of(found, r.generation);
    moment.regions.push_back(std::move(found));
  }
  const std::uint64_t wanted = dotnet::holders::HolderReader::memory_for(objects, walked);
  if (wanted > most_memory) return refused(too_much_memory(wanted, most_memory));
  const std::size_t regions = moment.gc.regions.size();
  std::string missing;
  moment.roots = of.reader.roots(memory, missing);
  add_stacks(of.target, of.reader.memory(), moment);
  HeapHolders out = of.reader.find(std::move(moment), of.options);
  if (torn != 0) missing = fmt::format("{} of {} regions could not be followed to their ends: {}", torn, regions, why);
  if (!missing.empty()) {
    out.is_exact = false;
    out.why_not = missing;
  }
  return out;
}

}  // namespace

HeapHolders find_heap_holders(const HolderSearch& of) {
  const std::uint64_t most = of.options.most_memory != 0 ? of.options.most_memory : memory_to_take();
  return of.is_frozen ? find_in_core(of, most) : LiveHolders(of, most).find();
}

}  // namespace mixstack::session
