// The protocol by which a heap is read at one moment, with a short stop.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dotnet/heap/gc_regions.h"
#include "dotnet/heap/heap_walk.h"
#include "mixstack/result.h"
#include "session/own_memory.h"

namespace mixstack::session {

/// Questions of the protocol to a runtime's collector, through memory of some moment.
class CollectorState {
 public:
  CollectorState() = default;
  virtual ~CollectorState() = default;
  CollectorState(const CollectorState&) = delete;
  CollectorState& operator=(const CollectorState&) = delete;
  [[nodiscard]] virtual dotnet::Diagnosed<dotnet::objects::GcRegions> regions(const MemoryReader& now) const = 0;
  [[nodiscard]] virtual bool is_moving(const MemoryReader& now) const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> collections(const MemoryReader& now) const = 0;
  [[nodiscard]] virtual bool sweeps(const MemoryReader& now) const = 0;
};

/// The same by a reader that has these functions. Borrows it.
template <class Reader>
class CollectorOf final : public CollectorState {
 public:
  explicit CollectorOf(const Reader& reader) : reader_(reader) {}
  [[nodiscard]] dotnet::Diagnosed<dotnet::objects::GcRegions> regions(const MemoryReader& now) const override {
    return reader_.regions(now);
  }
  [[nodiscard]] bool is_moving(const MemoryReader& now) const override { return reader_.is_moving(now); }
  [[nodiscard]] std::optional<std::uint64_t> collections(const MemoryReader& now) const override {
    return reader_.collections(now);
  }
  [[nodiscard]] bool sweeps(const MemoryReader& now) const override { return reader_.sweeps(now); }

 private:
  const Reader& reader_;
};

/// One reading of a heap: what is done before, in, and after a stop.
class HeapTask {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Outcome : std::uint8_t {
    done,
    moving,  ///< a collection was under way
    late,    ///< it took longer than is allowed
    failed
  };
  HeapTask() = default;
  virtual ~HeapTask() = default;
  HeapTask(const HeapTask&) = delete;
  HeapTask& operator=(const HeapTask&) = delete;

  /// While the process runs. False: a stop is not to be begun; `HeapStops::refuse` has been told why.
  [[nodiscard]] virtual bool prepare() = 0;
  /// Whether `read` is to be given the regions of the heap.
  [[nodiscard]] virtual bool needs_regions() const { return true; }
  /// In the stop, outside of collections, until `end`.
  [[nodiscard]] virtual Outcome read(const MemoryReader& still, dotnet::objects::GcRegions&& gc, Time end) = 0;
  /// While the process runs on. False: what was read is not as it must be, all is done again.
  [[nodiscard]] virtual bool walk() = 0;
};

/// Waits for the ends of collections, stops, and does all again where something came between. Bounds: attempts, stops,
/// the time that an end of a collection is waited for, and the pause that is allowed. Not thread-safe.
class HeapStops {
 public:
  static constexpr int kMostAttempts = 5, kMostStops = 60, kMostTries = 20, kMostRounds = 3;
  static constexpr std::uint64_t kBytesAMillisecond = 4 << 20;  ///< nothing is copied faster

  /// Borrowed. Stops a process: it stands still as long as the answer lives. A process of which a thread does not stop
  /// within the time (it has no processor, or waits for a disk) is let go: thread_not_stopped.
  using Stop = std::function<Result<std::shared_ptr<void>>(std::chrono::milliseconds most)>;
  struct Sources {
    const MemoryReader& memory;  ///< past all caches
    const CollectorState& collector;
    /// Collections of generation 1 and above since the process began: only these move what is old. Nothing: not known.
    const std::function<std::optional<std::uint64_t>()>& old_collections;
    Stop stop;
    std::chrono::milliseconds most_pause{50};
  };
  explicit HeapStops(Sources sources) : sources_(std::move(sources)) {}

  /// False: `why` says why not.
  [[nodiscard]] bool run(HeapTask& task);

  [[nodiscard]] bool wait_for_quiet() const;
  /// The heap between two collections, while the process runs. Nothing: `why`.
  [[nodiscard]] std::optional<dotnet::objects::GcRegions> look();
  [[nodiscard]] std::optional<std::uint64_t> epoch() const {
    return sources_.old_collections ? sources_.old_collections() : std::nullopt;
  }
  /// The same in a stop: counters were read before it, for they may have to be looked for first.
  [[nodiscard]] std::optional<std::uint64_t> epoch_in_stop(const MemoryReader& still) const;
  /// Bytes that may be read in one stop.
  [[nodiscard]] std::uint64_t most_bytes() const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(sources_.most_pause.count(), 0)) * kBytesAMillisecond;
  }

  void refuse(std::string why) { why_ = std::move(why); }
  [[nodiscard]] const std::string& why() const { return why_; }
  /// The last attempt ended because its stop took too long.
  [[nodiscard]] bool was_late() const { return was_late_; }
  void note_sweep(bool sweeps) { sweeps_ = sweeps_ || sweeps; }
  /// A background collection swept meanwhile.
  [[nodiscard]] bool sweeps() const { return sweeps_; }
  [[nodiscard]] std::chrono::nanoseconds pause() const { return pause_; }
  [[nodiscard]] std::uint32_t stops() const { return stops_; }
  [[nodiscard]] const Sources& sources() const { return sources_; }

 private:
  [[nodiscard]] HeapTask::Outcome stop(HeapTask& task);
  [[nodiscard]] std::string why_not_stopped(const Error& error) const;

  Sources sources_;
  std::optional<std::uint64_t> noted_epoch_, noted_at_;  ///< and the count of all collections then
  std::string why_;
  bool sweeps_ = false, was_late_ = false;
  std::chrono::nanoseconds pause_{0};
  std::uint32_t stops_ = 0;
};

/// Old regions that were read while the process runs, each in one read between collections. The result holds
/// as long as no collection of generation 1 or above has begun. `T` has `end`, a RegionCount::End.
template <class T>
class KeptRegions {
 public:
  static constexpr std::uint64_t kLargest = 512 << 20;  ///< bytes of our own memory

  /// Null: none that holds.
  [[nodiscard]] T* find(const dotnet::objects::GcRegion& region, std::optional<std::uint64_t> now) {
    const auto it = kept_.find(region.objects.begin);
    if (!now || it == kept_.end()) return nullptr;
    Kept& k = it->second;
    const bool is_same = k.region.objects == region.objects && k.region.generation == region.generation;
    return k.epoch == now && is_same ? &k.value : nullptr;
  }

  /// `walk(region, bytes)` makes a `T` of a region's bytes.
  template <class Walk>
  void keep(HeapStops& stops, const dotnet::objects::GcRegion& region, const Walk& walk) {
    if (region.objects.size() > kLargest) return;
    const auto size = static_cast<std::size_t>(region.objects.size());
    if (size > buffer_.size() && size > memory_to_take()) return;
    buffer_.resize(std::max(buffer_.size(), size));
    const HeapStops::Sources& sources = stops.sources();
    for (int tries = 0; tries < HeapStops::kMostTries; tries++) {
      if (!stops.wait_for_quiet()) return;
      const auto before = stops.epoch();
      const bool swept = sources.collector.sweeps(sources.memory);
      const std::span<std::byte> bytes(buffer_.data(), size);
      if (!sources.memory.read_exact(region.objects.begin, bytes)) return;
      if (sources.collector.is_moving(sources.memory) || stops.epoch() != before || !before) continue;
      T value = walk(region, dotnet::objects::bytes_of(region.objects.begin, bytes));
      if (value.end != dotnet::objects::RegionCount::End::whole) continue;
      stops.note_sweep(swept);
      kept_[region.objects.begin] = Kept{region, std::move(value), before};
      return;
    }
  }

  /// All old regions of a heap, looked at again where something came between. Nothing: it cannot be seen, or `goes_on`,
  /// asked with the heap after each region, has said no.
  template <class Walk, class GoesOn>
  std::optional<dotnet::objects::GcRegions> keep_old(HeapStops& stops, dotnet::objects::GcRegions gc, const Walk& walk,
                                                     const GoesOn& goes_on) {
    for (int round = 0; round < HeapStops::kMostRounds && stops.epoch(); round++) {
      bool all_held = true;
      for (const dotnet::objects::GcRegion& r : gc.regions) {
        if (!is_old(r) || r.objects.empty() || find(r, stops.epoch()) != nullptr) continue;
        all_held = false;
        keep(stops, r, walk);
        if (!goes_on(gc)) return std::nullopt;
      }
      if (all_held) break;
      auto again = stops.look();
      if (!again) return std::nullopt;
      gc = std::move(*again);
    }
    return gc;
  }
  template <class F>
  void each(F f) const {
    for (const auto& [begin, kept] : kept_) f(kept.value);
  }
  void clear() {
    kept_.clear();
    buffer_ = {};
  }

  [[nodiscard]] static bool is_old(const dotnet::objects::GcRegion& r) {
    return r.generation == HeapGeneration::two || r.generation == HeapGeneration::frozen;
  }

 private:
  struct Kept {
    dotnet::objects::GcRegion region;
    T value;
    std::optional<std::uint64_t> epoch;
  };
  std::map<Address, Kept> kept_;
  std::vector<std::byte> buffer_;
};

/// "the object at 0x7f... of generation 2 has no known type"
[[nodiscard]] std::string words_of_end(dotnet::objects::RegionCount::End end, Address at, HeapGeneration generation);

}  // namespace mixstack::session
