// Reads the heap of a process that runs for the question of who holds its objects.
//
// Input: a process that runs. Output: regions, copies of all objects that may refer to others, and roots, of one
// moment; then what HolderReader finds in them. Algorithm: references change at any time and leave no trace, so all of
// them are copied in one stop. The rest need not be: between two collections objects neither move nor change their
// type. So each region of generation 2 is walked while the process runs, from one read between collections, and tells
// which of its bytes belong to objects that may refer to others; only these are copied in the stop. All that is young
// is copied whole; of large and pinned objects the headers are read, and the bytes of those that may refer.
// Where a stop would be too long, all is read twice without one, between two collections, and words that have changed
// are left out; then the ways that are shown are looked at in one stop.
// Order: look; walk what is old; say how long a stop would be; then by the protocol of heap_stops.h: stop, copy, let
// run, walk. Bounds: those of the protocol, the pause that is allowed, and the memory that is allowed, of which the
// copies are a part.
#include "session/heap_holders.h"

#include <fmt/format.h>

#include <chrono>

#include "base/system/small_file.h"
#include "process/debugger/debug_session.h"
#include "session/heap_copy.h"
#include "session/holder_parts.h"
#include "session/stop_words.h"
#include "session/twice_read.h"

namespace mixstack::session {
namespace {

using dotnet::holders::HeapMoment;
using dotnet::holders::HolderReader;
using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;

/// Our own bytes: a copy's place, with a quarter more, and its range in the region.
constexpr std::uint64_t kBytesAPiece = dotnet::holders::HeapImage::kBytesAPiece * 5 / 4 + sizeof(AddressRange);
constexpr std::uint64_t kPieces = 4096;    // as many more
constexpr std::uint64_t kRoom = 16 << 20;  // of what comes before the stop, and stacks

/// A process that runs.
class LiveHolders final : public HeapTask {
 public:
  LiveHolders(const HolderSearch& of, std::uint64_t most_memory)
      : of_(of),
        memory_(of.target.memory()),
        most_memory_(most_memory),
        collector_(of.reader),
        stops_({memory_, collector_, of.old_collections, [this](std::chrono::milliseconds most) { return hold(most); },
                of.options.most_pause}),
        copy_(of.reader, memory_, kept_) {}

  HeapHolders find() {
    auto session = process::DebugSession::open();
    if (!session) return no_holders(stop_words(session.error()));
    auto process = (*session)->attach(of_.target.info().pid);
    if (!process) return no_holders(stop_words(process.error()));
    process_ = *process;
    HeapHolders out;
    if (stops_.run(*this)) {
      out = found();
    } else {
      reads_twice_ = is_too_long_ || stops_.was_late();
      out = reads_twice_ ? read_twice() : no_holders(stops_.why());
    }
    process_.reset();
    out.pause = stops_.pause();
    out.stops = stops_.stops();
    if (out.certainty != HoldersCertainty::read_twice) out.copied_in_stop = copy_.copied();
    if (stops_.sweeps() && out.is_exact) {
      out.is_exact = false;
      out.why_not = "a background collection sweeps: some of what it has freed may be counted";
    }
    return out;
  }

  /// Walks what is old while the process runs. False: the heap cannot be seen, or a stop would be too long.
  bool prepare() override {
    is_too_long_ = false;
    auto gc = stops_.look();
    if (!gc || !is_within_memory(*gc)) return false;
    const auto walk = [&](const GcRegion& r, const dotnet::objects::HeapBytes& bytes) {
      return of_.reader.walk(r, {}, bytes);
    };
    gc = kept_.keep_old(stops_, std::move(*gc), walk, [&](const GcRegions& now) { return is_within_memory(now); });
    if (!gc) return false;
    const HeapCopy::Cost cost = copy_.cost_of(*gc, stops_.epoch());
    if (!has_room(*gc, cost)) return false;
    copy_.reserve(cost.kept + cost.kept / 4 + kRoom, cost.pieces + cost.pieces / 4 + kPieces);
    const std::uint64_t in_stop = cost.read;
    if (in_stop <= stops_.most_bytes()) return true;
    is_too_long_ = true;
    stops_.refuse(fmt::format(
        "{} MB would have to be read in one stop, more than can be read in {} ms; --most-pause {}ms would "
        "allow it",
        in_stop >> 20, of_.options.most_pause.count(), in_stop / HeapStops::kBytesAMillisecond * 3 / 2 + 10));
    return false;
  }

  Outcome read(const MemoryReader& still, GcRegions&& gc, Time end) override {
    now_ = {};
    now_.gc = std::move(gc);
    missing_.clear();
    collections_ = of_.reader.collections(still);
    copy_.clear();
    now_.roots = of_.reader.roots(still, missing_);
    read_stacks(still, now_);
    if (copy_.copy(now_.gc, stops_.epoch_in_stop(still), end)) return Outcome::done;
    if (std::chrono::steady_clock::now() > end) return Outcome::late;
    stops_.refuse("collections came before each stop, so that more was to be read in it than there was room for");
    return Outcome::failed;
  }

  bool walk() override {
    std::string why;
    const bool is_whole = copy_.walk(now_.gc, now_.regions, why);
    if (!is_whole) stops_.refuse(std::move(why));
    return is_whole;
  }

 private:
  Result<std::shared_ptr<void>> hold(std::chrono::milliseconds most) {
    auto hold = process_->stop({}, most);
    if (!hold) return fail(hold.error());
    return std::shared_ptr<void>(std::make_shared<process::ThreadHold>(std::move(*hold)));
  }

  [[nodiscard]] bool needs_ways() const { return is_too_long_ || reads_twice_ || !of_.options.of.empty(); }

  /// With what was walked so far.
  bool is_within_memory(const GcRegions& gc) {
    std::uint64_t objects = 0;
    kept_.each([&](const dotnet::holders::RegionObjects& r) { objects += r.shapes.size(); });
    const std::uint64_t wanted = HolderReader::memory_for(objects, numbered_bytes(gc), needs_ways());
    if (wanted > most_memory_) stops_.refuse(too_much_memory(wanted, most_memory_));
    return wanted <= most_memory_;
  }

  bool has_room(const GcRegions& gc, const HeapCopy::Cost& copies) {
    std::uint64_t objects = objects_not_walked(gc);
    kept_.each([&](const dotnet::holders::RegionObjects& r) { objects += r.shapes.size(); });
    const std::uint64_t wanted = copies.kept + copies.kept / 4 + kRoom + copies.pieces * kBytesAPiece +
                                 HolderReader::memory_for(objects, numbered_bytes(gc), needs_ways());
    if (wanted > most_memory_) stops_.refuse(too_much_memory(wanted, most_memory_));
    return wanted <= most_memory_;
  }

  /// Registers, stacks and Thread objects of threads that run managed code, or have.
  void read_stacks(const MemoryReader& still, HeapMoment& moment) {
    const dotnet::RuntimeMemory memory = of_.reader.memory().with(still);
    const auto managed = HolderReader::threads(memory);
    const auto tids = process_->threads();
    if (!tids) return;
    for (const ThreadId tid : *tids) {
      const auto set = process_->registers(tid);
      if (!set) continue;
      const Address sp = set->registers.sp();
      const auto at = std::find_if(managed.begin(), managed.end(), [&](const auto& t) { return t.stack.contains(sp); });
      if (at == managed.end()) continue;
      const AddressRange used = used_stack(*at, sp);
      dotnet::holders::StoppedThread thread{tid, {}, {}, *at, set->registers, 0};
      // Without the two it is not walked, but its words are known.
      const bool is_kept = copy_.keep(used) && copy_.keep({at->address, at->address + memory.layouts().thread.extent});
      if (!is_kept) thread.managed.stack = {};
      thread.words = words_of_stack(memory_, used, set->registers);
      moment.roots.stacks.push_back(std::move(thread));
    }
  }

  HeapHolders found() {
    std::vector<AddressRange> moving{now_.gc.bounds};
    for (const auto& t : now_.roots.stacks) moving.push_back(t.managed.stack);
    of_.reader.image().set_moving(std::move(moving));
    for (auto& t : now_.roots.stacks)
      t.name = base::line_at(fmt::format("/proc/{}/task/{}/comm", of_.target.info().pid, t.tid));
    std::uint64_t objects = 0;
    for (const auto& r : now_.regions) objects += r.shapes.size();
    const std::uint64_t wanted =
        of_.reader.image().used() + HolderReader::memory_for(objects, numbered_bytes(now_.gc), needs_ways());
    if (wanted > most_memory_) return no_holders(too_much_memory(wanted, most_memory_));
    now_.is_unmoved = [this, at = collections_] { return at && at == of_.reader.collections(memory_); };
    HeapHolders out = of_.reader.find(std::move(now_), of_.options);
    if (!missing_.empty() && out.is_exact) {
      out.is_exact = false;
      out.why_not = missing_;
    }
    return out;
  }

  HeapHolders read_twice() {
    const std::string too_long = stops_.why();
    TwiceRead twice({of_.reader, stops_, copy_, missing_, [this] { return prepare() || is_too_long_; },
                     [this](const MemoryReader& still, HeapMoment& moment) { read_stacks(still, moment); }});
    auto moment = twice.read();
    if (!moment) return no_holders(too_long + "; without a stop it cannot be read: " + stops_.why());
    now_ = std::move(*moment);
    collections_ = twice.collections();
    HeapHolders out = found();
    if (out.certainty == HoldersCertainty::none) return out;
    out.is_exact = false;
    out.why_not = too_long;
    out.changed_words = twice.changed();
    return out;
  }

  const HolderSearch& of_;
  const MemoryReader& memory_;
  std::uint64_t most_memory_;
  std::shared_ptr<process::DebuggedProcess> process_;
  CollectorOf<HolderReader> collector_;
  HeapStops stops_;
  HeapCopy::Kept kept_;
  HeapCopy copy_;
  HeapMoment now_;                            ///< of the last stop
  std::optional<std::uint64_t> collections_;  ///< all, at that moment
  std::string missing_;
  bool is_too_long_ = false, reads_twice_ = false;
};

}  // namespace

HeapHolders find_holders_live(const HolderSearch& of, std::uint64_t most_memory) {
  return LiveHolders(of, most_memory).find();
}

}  // namespace mixstack::session
