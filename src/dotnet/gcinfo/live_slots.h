// The references that a method keeps while its code stands at an offset: the slots of its GC info that are live there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dotnet/gcinfo/gc_info.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::dotnet {

/// The base of a slot's offset.
enum class GcSlotBase : std::uint8_t {
  caller_sp,       ///< the stack pointer as it is after the return
  sp,              ///< the stack pointer
  frame_register,  ///< GcInfoHeader::base_register
  in_register,     ///< the slot is a register
};

/// A place that holds a reference.
struct GcSlot {
  GcSlotBase base = GcSlotBase::sp;
  unsigned reg = 0;          ///< of `in_register`; numbered as the psABI does (mixstack/registers.h)
  std::int32_t offset = 0;   ///< of the others: bytes
  bool is_interior = false;  ///< may point into an object, or at none
  bool is_pinned = false;
  bool is_untracked = false;  ///< holds a reference or null wherever the method stands
  friend bool operator==(const GcSlot&, const GcSlot&) = default;
};

struct LiveSlotsQuery {
  std::uint32_t offset = 0;  ///< in the code: of the instruction that runs next
  /// An exception has left this place, and execution does not go on there: safe points do not count, and outside every
  /// range nothing lives.
  bool is_aborted = false;
  bool leaves_out_untracked = false;  ///< for a filter, whose method reports its untracked slots itself
};

struct LiveSlots {
  GcInfoHeader header;
  std::vector<GcSlot> slots;
  /// False: the GC info does not say at this offset which tracked slots live. For a call in a method without
  /// interruptible ranges, that means none lives: such calls are no safe points.
  bool is_told = true;
};

/// Decodes the live slots from the start of GC info. `bytes`: as many as could be read. Allocates at most one slot for
/// each three bits.
/// Errors: those of decode_gc_info_header(); `truncated`: more bytes are needed, or there are none; `invalid_argument`:
/// the offset lies behind the method.
/// Sources: src/coreclr/vm/gcinfodecoder.cpp, src/coreclr/inc/gcinfotypes.h, docs/design/datacontracts/GCInfo.md.
[[nodiscard]] Result<LiveSlots> decode_live_slots(std::span<const std::byte> bytes, Arch arch, std::uint32_t version,
                                                  const LiveSlotsQuery& query);

}  // namespace mixstack::dotnet
