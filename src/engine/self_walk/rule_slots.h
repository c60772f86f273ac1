// Rules of code locations, shared without locks by all walks of a process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/unwind/rule_cache.h"
#include "mixstack/address.h"

namespace mixstack::self_walk {

/// How the hot loop handles a rule, as bits: those tested together leave the fast path.
namespace step_kind {
inline constexpr std::uint32_t kByFp = 1;      ///< CFA = frame pointer + offset, else sp + offset
inline constexpr std::uint32_t kSigned = 2;    ///< the return address carries an authentication code
inline constexpr std::uint32_t kNotPlain = 4;  ///< must be executed in its general form
inline constexpr std::uint32_t kEnd = 8;       ///< with kNotPlain: the outermost frame
inline constexpr std::uint32_t kMayGo = 16;    ///< of a module that may be unloaded: validate it once per walk
}  // namespace step_kind

/// The part of a rule that the hot loop reads. A plain rule based on sp saves its registers between sp and CFA and
/// advances, so that only the upper bound of the stack remains to be checked.
struct PackedRule {
  std::int32_t cfa_offset = 0;
  std::uint32_t slots = 0;  ///< bits 0..15 slot of the frame pointer, 16..31 slot of the return address
  std::uint32_t depth = 0;  ///< bytes below the CFA that hold all slots
  // Not beside `slots`: GCC 12 would pack the two into one vector register.
  std::uint32_t what = 0;   ///< bits 0..15 module, 16.. step_kind
  std::uint32_t owner = 0;  ///< of code generated at run time, see CodeRules::Answer; 0: code of an image

  [[nodiscard]] std::uint32_t fp_slot() const { return slots & 0xffff; }
  [[nodiscard]] std::uint32_t ra_slot() const { return slots >> 16; }
  [[nodiscard]] std::uint16_t module() const { return static_cast<std::uint16_t>(what); }
  [[nodiscard]] std::uint32_t kind() const { return what >> 16; }

  template <Arch A>
  [[nodiscard]] static PackedRule from(const unwind::CompactRule& row, CodeAddress pc, std::uint16_t module,
                                       bool may_go) {
    unwind::RuleSlot slot;
    slot.assign<A>(unwind::RuleCache::key_of(pc), row, kNoModule);
    std::uint32_t kind = slot.kind;
    const bool stays = arch::cpu(A).has_link_register() && pc.is_exact() && slot.cfa_offset == 0;  // no frame yet
    const bool is_by_sp = (kind & step_kind::kByFp) == 0;
    const bool holds = slot.depth <= slot.cfa_offset || (stays && row.depth == 0);
    if (is_by_sp && (!holds || (slot.cfa_offset <= 0 && !stays))) kind |= step_kind::kNotPlain;
    if (may_go) kind |= step_kind::kMayGo;
    return {slot.cfa_offset, slot.fp_slot | std::uint32_t{slot.ra_slot} << 16, slot.depth, module | kind << 16, 0};
  }
};
static_assert(step_kind::kByFp == unwind::slot_kind::kByFp && step_kind::kSigned == unwind::slot_kind::kSigned &&
              step_kind::kNotPlain == unwind::slot_kind::kNotPlain && step_kind::kEnd == unwind::slot_kind::kEnd);

/// Orders the removal of freed code's rules with walks that insert rules. A walk remembers the turn in which it began.
/// If the turn changed, a rule that it inserted or moved may be of freed code, in a slot that the removal had already
/// passed: the walk removes it again. So no rule is found after the turn that dropped it, whatever was interrupted
/// where.
class RuleTurns {
 public:
  /// The turn of a walk that begins now; 0: rules are being removed, so insert none.
  [[nodiscard]] std::uint64_t present() const {
    const std::uint64_t ended = ended_.load(std::memory_order_seq_cst);
    const std::uint64_t begun = begun_.load(std::memory_order_seq_cst);
    return begun == ended ? begun : 0;
  }
  /// Call after a rule was inserted.
  [[nodiscard]] bool is_over(std::uint64_t turn) const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return begun_.load(std::memory_order_seq_cst) != turn;
  }
  /// `begin` and `end` enclose a removal, after the code can no longer be found. One thread at a time.
  void begin() {
    begun_.fetch_add(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void end() { ended_.fetch_add(1, std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint64_t> begun_{1}, ended_{1};
};

/// Two tables: a small one, direct-mapped and always present, and a large one for rules evicted from it, whose pages
/// are allocated at first use. Keys are those of unwind::RuleCache.
///
/// Each slot has a sequence number, odd while it is written. A reader that meets a writer (in another thread, or the
/// one it interrupted) misses; a writer that meets a writer does not write. Signal-safe. A writer that never ends (a
/// handler left by longjmp) costs its slot.
class RuleSlots {
 public:
  static constexpr std::size_t kSlotBytes = 32;
  static constexpr std::size_t kFirstSlots = 1024;

  RuleSlots() = default;
  /// Memory of zeros, borrowed: `first` of kFirstSlots, `second` of `count` (a power of two) slots, and a counter.
  RuleSlots(void* first, void* second, std::size_t count, std::atomic<std::uint32_t>& spilled)
      : first_(static_cast<std::byte*>(first)),
        second_(static_cast<Slot*>(second)),
        mask_(count - 1),
        spilled_(&spilled) {}

  /// Without the owner if it is not asked for: the hot loop has no load to spare.
  template <Arch A, bool kOwned = true>
  [[nodiscard]] bool find_first(Address key, PackedRule& out) const {
    return read<kOwned>(first<A>(key), key, out);
  }
  [[nodiscard]] bool find_second(Address key, PackedRule& out) const {
    const std::uint32_t spilled = spilled_->load(std::memory_order_relaxed);
    const std::size_t at = second(key, spilled);
    return spilled != 0 && (read<true>(second_[at], key, out) || read<true>(second_[at ^ 1], key, out));
  }

  struct Put {
    bool has_replaced = false;  ///< another location was evicted altogether
    Address moved = 0;          ///< key of a rule moved to the other table
  };
  template <Arch A>
  Put put(Address key, const PackedRule& rule) const {
    Entry replaced;
    if (!write(first<A>(key), {key, rule}, replaced) || replaced.key == 0 || replaced.key == key) return {};
    return {keep(replaced), replaced.key};
  }
  /// Removes a rule. One that a writer is about to insert or move stays: see RuleTurns.
  template <Arch A>
  void drop(Address key) const {
    drop_from(first<A>(key), key);
    for (const std::uint32_t spilled : {0u, kFewSpilled}) {
      const std::size_t at = second(key, spilled);
      drop_from(second_[at], key);
      drop_from(second_[at ^ 1], key);
    }
  }
  /// The same for all rules of a range of code.
  void drop_all(AddressRange code) const {
    const auto drop_in = [&](Slot& slot) {
      const Address key = slot.key.load(std::memory_order_relaxed);
      const Address address = key >> 63 != 0 ? ~key : key;
      if (address >= code.begin && address <= code.end) drop_from(slot, key);
    };
    for (std::size_t i = 0; i < kFirstSlots; i++) drop_in(*reinterpret_cast<Slot*>(first_ + i * sizeof(Slot)));
    for (std::size_t i = 0; i <= mask_ && spilled_->load(std::memory_order_relaxed) != 0; i++) drop_in(second_[i]);
  }

 private:
  struct alignas(kSlotBytes) Slot {
    std::atomic<std::uint64_t> key;  ///< 0: free
    std::atomic<std::int32_t> cfa_offset;
    std::atomic<std::uint32_t> slots, depth, what, owner;
    std::atomic<std::uint32_t> sequence;
  };
  static_assert(sizeof(Slot) == kSlotBytes && std::atomic<std::uint64_t>::is_always_lock_free);
  struct Entry {
    Address key = 0;
    PackedRule rule;
  };

  template <bool kOwned>
  [[nodiscard]] static bool read(const Slot& slot, Address key, PackedRule& out) {
    // Each load but the last is an acquire, so that the last one is made after all others.
    const std::uint32_t sequence = slot.sequence.load(std::memory_order_acquire);
    const std::uint64_t found = slot.key.load(std::memory_order_acquire);
    out = {slot.cfa_offset.load(std::memory_order_acquire), slot.slots.load(std::memory_order_acquire),
           slot.depth.load(std::memory_order_acquire), slot.what.load(std::memory_order_acquire), 0};
    if constexpr (kOwned) out.owner = slot.owner.load(std::memory_order_acquire);
    // One condition: branches would cost more than they save. An odd number equals none without its lowest bit.
    const std::uint32_t changed = slot.sequence.load(std::memory_order_relaxed) ^ (sequence & ~1u);
    return ((found ^ key) | changed) == 0;
  }
  [[nodiscard]] static bool write(Slot& slot, const Entry& entry, Entry& replaced) {
    std::uint32_t sequence = slot.sequence.load(std::memory_order_relaxed);
    if ((sequence & 1) != 0 ||
        !slot.sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acquire))
      return false;
    constexpr auto kRelaxed = std::memory_order_relaxed, kRelease = std::memory_order_release;
    replaced.key = slot.key.load(kRelaxed);
    replaced.rule = {slot.cfa_offset.load(kRelaxed), slot.slots.load(kRelaxed), slot.depth.load(kRelaxed),
                     slot.what.load(kRelaxed), slot.owner.load(kRelaxed)};
    // Releases, so that no reader sees them without the odd number before them.
    slot.key.store(entry.key, kRelease);
    slot.cfa_offset.store(entry.rule.cfa_offset, kRelease);
    slot.slots.store(entry.rule.slots, kRelease);
    slot.what.store(entry.rule.what, kRelease);
    slot.depth.store(entry.rule.depth, kRelease);
    slot.owner.store(entry.rule.owner, kRelease);
    slot.sequence.store(sequence + 2, kRelease);
    return true;
  }
  static void drop_from(Slot& slot, Address key) {
    Entry replaced;
    if (slot.key.load(std::memory_order_relaxed) == key) (void)write(slot, {}, replaced);
  }
  /// Puts it into one of its two places in the large table: a free one or its own if possible.
  [[nodiscard]] bool keep(const Entry& entry) const {
    std::size_t at = second(entry.key, spilled_->fetch_add(1, std::memory_order_relaxed));
    const auto suits = [&](std::size_t i) {
      const std::uint64_t key = second_[i].key.load(std::memory_order_relaxed);
      return key == 0 || key == entry.key;
    };
    if (!suits(at) && suits(at ^ 1)) at ^= 1;
    Entry replaced;
    return write(second_[at], entry, replaced) && replaced.key != 0 && replaced.key != entry.key;
  }

  /// The low bits of return addresses are as good as random; see unwind::RuleCache.
  template <Arch A>
  [[nodiscard]] Slot& first(Address key) const {
    constexpr std::uint64_t kSize = sizeof(Slot) >> arch::cpu(A).zero_address_bits;
    constexpr std::uint64_t kMask = (kFirstSlots - 1) * sizeof(Slot);
    return *reinterpret_cast<Slot*>(first_ + ((key * kSize) & kMask));
  }
  /// While few rules have spilled, use one page of the large table only: a page fault takes as long as two look-ups.
  /// Rules there are lost when the whole table comes into use.
  [[nodiscard]] std::size_t second(Address key, std::uint32_t spilled) const {
    const std::size_t mask = spilled < kFewSpilled ? std::min(mask_, kFewMask) : mask_;
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> 20) & mask;
  }

  static constexpr std::uint32_t kFewSpilled = 48;
  static constexpr std::size_t kFewMask = 127;

  std::byte* first_ = nullptr;
  Slot* second_ = nullptr;
  std::size_t mask_ = 0;
  std::atomic<std::uint32_t>* spilled_ = nullptr;
};

}  // namespace mixstack::self_walk
