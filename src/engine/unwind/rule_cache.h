// Rules of the code locations seen last, keyed by look-up address, so that a walk over known code does no search at
// all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/unwind/compact_rule.h"
#include "mixstack/address.h"
#include "mixstack/frame.h"

namespace mixstack::unwind {

/// How the hot loop handles a slot, as bits so that each mode tests once.
namespace slot_kind {
inline constexpr std::uint8_t kByFp = 1;      ///< CFA = frame pointer + offset, else sp + offset
inline constexpr std::uint8_t kSigned = 2;    ///< the return address carries an authentication code
inline constexpr std::uint8_t kNotPlain = 4;  ///< anything else: see `rule`
inline constexpr std::uint8_t kEnd = 8;       ///< with kNotPlain: the outermost frame
}  // namespace slot_kind

/// The part of a rule that the hot loop reads, two to a cache line.
struct alignas(32) RuleSlot {
  Address key = 0;                            ///< RuleCache::key_of; 0 and ~0 are no code
  const CompactRule* rule = &kNoCompactRule;  ///< of the module's table; valid as long as the modules
  std::int32_t cfa_offset = 0;
  std::uint16_t fp_slot = 0;  ///< as in CompactRule::slots
  std::uint16_t ra_slot = 0;
  std::uint16_t depth = 0;  ///< bytes below the CFA that must be readable, at least 8
  std::uint8_t kind = slot_kind::kNotPlain;
  std::uint8_t unused = 0;
  ModuleIndex module = kNoModule;

  template <Arch A>
  void assign(Address new_key, const CompactRule& r, ModuleIndex m) {
    constexpr ArchRegisters kNumbers = arch::cpu(A).registers;
    key = new_key;
    rule = &r;
    module = m;
    cfa_offset = r.cfa_offset;
    fp_slot = r.slots[CompactLayout::kFp];
    ra_slot = r.slots[kCompactLayouts[A].ra];
    depth = static_cast<std::uint16_t>(std::max(r.depth, 8u));
    const bool by_fp = r.cfa_register == kNumbers.fp;
    const bool plain = r.kind == CompactKind::register_offset && (by_fp || r.cfa_register == kNumbers.sp);
    kind = static_cast<std::uint8_t>((by_fp ? slot_kind::kByFp : 0) | (plain ? 0 : slot_kind::kNotPlain) |
                                     ((r.flags & CompactRule::kRaSigned) != 0 ? slot_kind::kSigned : 0) |
                                     (r.kind == CompactKind::end_of_stack ? slot_kind::kEnd : 0));
  }
};
static_assert(sizeof(RuleSlot) == 32);

/// Direct-mapped. Starts small, since a walk of one stack should not pay for touching 128 KiB, and grows as it fills.
/// Belongs to one walker (not thread-safe) and one set of modules: clear it when they change.
class RuleCache {
 public:
  static constexpr std::size_t kFirstSlots = 128, kMostSlots = 4096;

  RuleCache() { resize(kFirstSlots); }

  /// The key of a location: a return address itself, since the hot loop has that; the same address as an exact pc has
  /// another row, and its complement as key, which no return address equals.
  [[nodiscard]] static Address key_of(CodeAddress pc) { return pc.is_exact() ? ~pc.raw() : pc.raw(); }
  /// The only slot for `key`. The low bits of return addresses are as good as random, but for those that the CPU keeps
  /// zero.
  template <Arch A>
  [[nodiscard]] RuleSlot& slot(Address key) {
    // Index times size, with the multiplication folded into the shift.
    const auto offset =
        static_cast<std::size_t>((key * (sizeof(RuleSlot) >> arch::cpu(A).zero_address_bits)) & offset_mask_);
    return *reinterpret_cast<RuleSlot*>(reinterpret_cast<std::byte*>(slots_.get()) + offset);
  }
  /// To be called before a slot is filled; invalidates references to slots.
  void count_miss() {
    if (++misses_ <= size_ || size_ == kMostSlots) return;
    resize(std::min(size_ * 8, kMostSlots));
  }
  /// Forgets rules of code outside of modules.
  void forget_outside() {
    for (std::size_t i = 0; i < size_; i++)
      if (slots_[i].module == kNoModule) slots_[i] = {};
  }
  void clear() {
    if (misses_ != 0) std::fill_n(slots_.get(), size_, RuleSlot{});
    misses_ = 0;
  }

 private:
  void resize(std::size_t size) {
    slots_ = std::make_unique<RuleSlot[]>(size);
    size_ = size;
    offset_mask_ = (size - 1) * sizeof(RuleSlot);
    misses_ = 0;
  }

  std::unique_ptr<RuleSlot[]> slots_;
  std::uint64_t offset_mask_ = 0;
  std::size_t size_ = 0, misses_ = 0;
};

}  // namespace mixstack::unwind
