// State shared by all walks of a process.
#pragma once

#include <sys/auxv.h>

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/self_walk/bare_code.h"
#include "engine/self_walk/module_records.h"
#include "engine/self_walk/object_finder.h"
#include "engine/self_walk/rule_slots.h"
#include "engine/self_walk/zeroed_pages.h"

namespace mixstack::self_walk {

/// Tables of one size. Larger ones replace them, but their size never changes: a walk keeps those it began with.
class Tables {
 public:
  /// `rules` is a power of two. `initial`: see initial_objects.
  Tables(std::size_t rules, ObjectFinder finder, std::vector<LoadedObject> initial)
      : finder_(std::move(finder)),
        bare_(BareCode::of_loaded_images()),
        initial_(std::move(initial)),
        first_(RuleSlots::kFirstSlots * RuleSlots::kSlotBytes, ZeroedPages::Presence::at_once),
        second_(rules * RuleSlots::kSlotBytes, ZeroedPages::Presence::lazy),
        slots_(first_.get(), second_.get(), rules, spilled_),
        rules_(rules) {}

  [[nodiscard]] bool is_usable() const {
    return first_.get() != nullptr && second_.get() != nullptr && modules_.is_usable();
  }
  [[nodiscard]] const ObjectFinder& finder() const { return finder_; }
  /// The program's entry point.
  [[nodiscard]] Address entry_point() const { return entry_point_; }
  [[nodiscard]] const BareCode& bare() const { return bare_; }
  [[nodiscard]] const RuleSlots& slots() const { return slots_; }
  [[nodiscard]] ModuleRecords& modules() { return modules_; }
  [[nodiscard]] std::size_t rules() const { return rules_; }
  /// Whether the image stays loaded as long as the process runs.
  [[nodiscard]] bool is_initial(const LoadedObject& object) const {
    for (const LoadedObject& o : initial_)
      if (o.range == object.range) return true;
    return false;
  }
  /// May lose counts when threads meet, which does not matter.
  [[nodiscard]] std::uint32_t count_second_hit() {
    const std::uint32_t hits = second_hits_.load(std::memory_order_relaxed);
    second_hits_.store(hits + 1, std::memory_order_relaxed);
    return hits;
  }
  [[nodiscard]] const RuleTurns& turns() const { return turns_; }
  /// Removes the rules of all places in `range`. One thread at a time.
  template <Arch A>
  void forget(AddressRange range) {
    turns_.begin();
    if (range.size() > kFewPlaces) {
      slots_.drop_all(range);
    } else {
      for (Address at = range.begin; at <= range.end; at++) {
        slots_.drop<A>(unwind::RuleCache::key_of(CodeAddress::after_call(at)));
        slots_.drop<A>(unwind::RuleCache::key_of(CodeAddress::exact(at)));
      }
    }
    turns_.end();
  }
  void count_replaced() { replaced_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t replaced() const { return replaced_.load(std::memory_order_relaxed); }

 private:
  /// For more places it is faster to look at all slots.
  static constexpr std::uint64_t kFewPlaces = 2048;

  ObjectFinder finder_;
  BareCode bare_;
  Address entry_point_ = ::getauxval(AT_ENTRY);
  std::vector<LoadedObject> initial_;
  ZeroedPages first_, second_;
  std::atomic<std::uint32_t> spilled_{0};
  RuleSlots slots_;
  RuleTurns turns_;
  std::size_t rules_;
  ModuleRecords modules_;
  std::atomic<std::uint32_t> second_hits_{0};
  std::atomic<std::size_t> replaced_{0};
};

}  // namespace mixstack::self_walk
