// Rules of the code locations seen last, keyed by look-up address, so that a walk over known code does no search at
// all.
#pragma once

#include <cstdint>
#include <memory>

#include "mixstack/address.h"
#include "mixstack/frame.h"
#include "unwind/compact_rule.h"

namespace mixstack::unwind {

enum class SlotKind : std::uint8_t {
  plain,         ///< CFA = register + offset; everything the hot loop needs is in the slot
  plain_signed,  ///< the same, return address with pointer authentication
  other,         ///< see `rule`
};

/// What the hot loop reads of a rule, two to a cache line.
struct alignas(32) RuleSlot {
  Address key = ~Address{0};
  const CompactRule* rule = nullptr;  ///< of the module's table; valid as long as the modules
  std::int32_t cfa_offset = 0;
  std::uint16_t fp_slot = 0;  ///< as in CompactRule::slots
  std::uint16_t ra_slot = 0;
  std::uint16_t depth = 0;  ///< words below the CFA that must be readable
  std::uint8_t cfa_register = 0;
  SlotKind kind = SlotKind::other;
  ModuleIndex module = kNoModule;

  template <Arch A>
  void assign(Address address, const CompactRule& r, ModuleIndex m) {
    using Layout = CompactLayout<A>;
    key = address;
    rule = &r;
    module = m;
    cfa_offset = r.cfa_offset;
    fp_slot = r.slots[Layout::kFp];
    ra_slot = r.slots[Layout::kRa];
    depth = static_cast<std::uint16_t>(r.depth / 8);
    cfa_register = r.cfa_register;
    kind = r.kind != CompactKind::register_offset    ? SlotKind::other
           : (r.flags & CompactRule::kRaSigned) != 0 ? SlotKind::plain_signed
                                                     : SlotKind::plain;
  }
};
static_assert(sizeof(RuleSlot) == 32);

/// Direct-mapped. Belongs to one walker (not thread-safe) and one set of modules: clear it when they change.
class RuleCache {
 public:
  static constexpr std::size_t kSlots = 4096;

  RuleCache() : slots_(std::make_unique<RuleSlot[]>(kSlots)) {}
  [[nodiscard]] RuleSlot& slot(Address key) { return slots_[(key ^ key >> 12) % kSlots]; }
  void clear() {
    for (std::size_t i = 0; i < kSlots; i++) slots_[i] = {};
  }

 private:
  std::unique_ptr<RuleSlot[]> slots_;
};

}  // namespace mixstack::unwind
