// Input: the bytes of a method's GC info; an offset in its code.
// Output: the slots that hold references there.
// Algorithm: after the header come the safe points (offsets behind calls, ascending), the interruptible ranges, the
// table of slots (registers, stack, untracked stack), then the live sets; they are read in this order, because each
// part begins where the one before ends. A safe point has one set, in turn or through a table of offsets. The ranges
// are laid end to end and cut into chunks of 64 offsets. A chunk holds the set of slots that live in it, for each
// whether it lives at the end, and the offsets where that changes; a chunk without data is in the state at which the
// last one before it ended. A set is one bit for each slot, or lengths of runs.
// Bounds: each count is checked against the bits that are left before anything is allocated or repeated. Time is linear
// in the safe points and the slots; only the runs of one set are read twice.
#include "dotnet/gcinfo/live_slots.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "dotnet/gcinfo/bit_reader.h"
#include "dotnet/gcinfo/cpus.h"

namespace mixstack::dotnet {
namespace {

// Widths of the first group of a number; the same on all CPUs.
constexpr unsigned kRangeStart = 6, kRangeLength = 6, kRegister = 3, kRegisterStep = 2, kStackSlots = 2, kUntracked = 1,
                   kStackSlot = 6, kStackStep = 4, kPointer = 3, kRun = 2, kSkip = 4;
constexpr unsigned kBaseBits = 2, kFlagBits = 2;
constexpr std::uint32_t kInterior = 1, kPinned = 2;
constexpr unsigned kChunkBits = 6;  // a chunk is 64 offsets
constexpr unsigned kWordShift = 3;

class Body {
 public:
  Body(std::span<const std::byte> bytes, const GcInfoCpu& cpu, const GcInfoHeader& header, const LiveSlotsQuery& query)
      : in_(bytes), cpu_(cpu), header_(header), query_(query), offset_(query.offset >> cpu.code_shift) {
    in_.seek(header.body_bit);
  }

  Result<LiveSlots> live() {
    LiveSlots found;
    found.header = header_;
    find_safe_point();
    find_in_ranges();
    // A method with ranges can be stopped only inside them. If an exception left the code, execution does not go on,
    // except in a handler; and methods with handlers have ranges.
    const bool is_outside = !at_ && !point_ && (header_.interruptible_ranges != 0 || query_.is_aborted);
    read_slots();
    if (!in_.ok() || !is_ok_) return stopped();
    found.is_told = tracked_ == 0 || point_ || at_;
    if (is_outside) return found;
    if (tracked_ != 0 && (point_ || at_)) {
      point_ ? read_safe_point() : read_chunk();
      if (!in_.ok() || !is_ok_) return stopped();
    }
    const std::size_t count = query_.leaves_out_untracked ? tracked_ : slots_.size();
    for (std::size_t i = 0; i < count; i++)
      if (i >= tracked_ || live_[i]) found.slots.push_back(slots_[i]);
    return found;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> stopped() const {
    return is_ok_ ? fail(ErrorCode::truncated, in_.position()) : fail(ErrorCode::malformed, in_.position());
  }
  /// Whether the remaining bits can hold so many items of so many bits each.
  [[nodiscard]] bool fits(std::uint64_t count, std::uint64_t bits_each) {
    if (in_.left() / bits_each < count) in_.give_up();
    return in_.ok();
  }

  void find_safe_point() {
    const std::uint32_t length = header_.code_length >> cpu_.code_shift;
    const unsigned width = length <= 1 ? 0 : static_cast<unsigned>(std::bit_width(length - 1));
    const std::size_t begin = in_.position();
    // A method without references may end here, so the list of safe points may be cut short: do not fail.
    const bool is_aligned = query_.offset == offset_ << cpu_.code_shift;
    // With a width of no bits all offsets are the same: look at one, however many are announced.
    const std::uint32_t count = width == 0 ? std::min(header_.safe_points, 1u) : header_.safe_points;
    for (std::uint32_t i = 0; i < count && is_aligned && !query_.is_aborted && in_.left() >= width; i++) {
      const std::uint32_t offset = in_.bits(width);
      if (offset == offset_) point_ = i;
      if (offset >= offset_) break;
    }
    in_.seek(begin + std::size_t{header_.safe_points} * width);
  }

  void find_in_ranges() {
    if (!fits(header_.interruptible_ranges, kRangeStart + kRangeLength + 2)) return;
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < header_.interruptible_ranges && in_.ok(); i++) {
      const std::uint64_t begin = end + in_.number(kRangeStart);
      const std::uint64_t length = std::uint64_t{in_.number(kRangeLength)} + 1;
      end = begin + length;
      if (!point_ && offset_ >= begin && offset_ < end) at_ = interruptible_ + offset_ - begin;
      interruptible_ += length;
    }
    // The table of chunks is as long as the ranges are together.
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    is_ok_ = is_ok_ && (!in_.ok() || end <= kMost);
  }

  void take_flags(GcSlot& slot) {
    const std::uint32_t flags = in_.bits(kFlagBits);
    slot.is_interior = (flags & kInterior) != 0;
    slot.is_pinned = (flags & kPinned) != 0;
  }
  void read_slots() {
    // A method without slots may end at its header.
    const bool has_registers = in_.left() != 0 && in_.bits(1) != 0;
    const std::uint32_t registers = has_registers ? in_.number(cpu_.register_count_bits) : 0;
    const bool has_stack = in_.left() != 0 && in_.bits(1) != 0;
    const std::uint32_t stack = has_stack ? in_.number(kStackSlots) : 0;
    const std::uint32_t untracked = has_stack ? in_.number(kUntracked) : 0;
    const std::uint64_t count = std::uint64_t{registers} + stack + untracked;
    if (!fits(count, kRegisterStep + 1)) return;
    slots_.reserve(count);
    read_registers(registers);
    read_stack(stack, false);
    tracked_ = slots_.size();
    read_stack(untracked, true);
    live_.assign(tracked_, false);
  }
  // A slot after one without flags has none either; its number is the distance from that one.
  void read_registers(std::uint32_t count) {
    GcSlot slot{.base = GcSlotBase::in_register};
    std::uint64_t number = 0;
    for (std::uint32_t i = 0; i < count && in_.ok() && is_ok_; i++) {
      const bool is_step = i != 0 && !slot.is_interior && !slot.is_pinned;
      number = is_step ? number + in_.number(kRegisterStep) + 1 : in_.number(kRegister);
      if (!is_step) take_flags(slot);
      is_ok_ = !in_.ok() || number < cpu_.registers.size();
      if (!in_.ok() || !is_ok_) return;
      slot.reg = cpu_.registers[number];
      slots_.push_back(slot);
    }
  }
  void read_stack(std::uint32_t count, bool is_untracked) {
    GcSlot slot{.is_untracked = is_untracked};
    std::int64_t words = 0;
    for (std::uint32_t i = 0; i < count && in_.ok() && is_ok_; i++) {
      const std::uint32_t base = in_.bits(kBaseBits);
      const bool is_step = i != 0 && !slot.is_interior && !slot.is_pinned;
      words = is_step ? words + in_.number(kStackStep) : in_.signed_number(kStackSlot);
      if (!is_step) take_flags(slot);
      constexpr std::int64_t kFurthest = std::numeric_limits<std::int32_t>::max() >> kWordShift;
      const bool has_base = base != static_cast<std::uint32_t>(GcSlotBase::frame_register) || header_.base_register;
      is_ok_ = !in_.ok() || (base <= static_cast<std::uint32_t>(GcSlotBase::frame_register) && has_base &&
                             words >= -kFurthest && words <= kFurthest);
      if (!in_.ok() || !is_ok_) return;
      slot.base = static_cast<GcSlotBase>(base);
      slot.offset = static_cast<std::int32_t>(words * (1 << kWordShift));
      slots_.push_back(slot);
    }
  }

  /// A set of slots: its members are live.
  void read_set() {
    if (in_.bits(1) == 0) {
      if (!fits(tracked_, 1)) return;
      for (std::size_t i = 0; i < tracked_; i++) live_[i] = in_.bits(1) != 0;
      return;
    }
    // Runs of absent and of present slots, in turn. Only the first run, of absent slots, may be empty; the bit says
    // which of the two kinds has the long runs.
    bool is_long = in_.bits(1) == 0, is_in = false;
    std::uint64_t run = in_.number(is_long ? kSkip : kRun);
    for (std::uint64_t at = 0; in_.ok();) {
      is_ok_ = is_ok_ && at + run <= tracked_;
      for (const std::uint64_t end = std::min<std::uint64_t>(at + run, tracked_); at < end; at++) live_[at] = is_in;
      if (at == tracked_) return;
      is_long = !is_long;
      is_in = !is_in;
      run = std::uint64_t{in_.number(is_long ? kSkip : kRun)} + 1;
    }
  }

  void read_safe_point() {
    if (in_.bits(1) == 0) {
      in_.skip(std::size_t{*point_} * tracked_);
      if (!fits(tracked_, 1)) return;
      for (std::size_t i = 0; i < tracked_; i++) live_[i] = in_.bits(1) != 0;
      return;
    }
    const std::uint64_t width = std::uint64_t{in_.number(kPointer)} + 1;
    if (!narrow(width)) return;
    const std::size_t table = in_.position();
    in_.skip(std::size_t{*point_} * width);
    const std::size_t place = in_.bits(static_cast<unsigned>(width));
    in_.seek(whole_byte(table + std::size_t{header_.safe_points} * width) + place);
    read_set();
  }

  void read_chunk() {
    // Skip the sets of safe points.
    if (header_.safe_points != 0) {
      // A table gives their offsets, but the ranges' part follows the sets all the same.
      if (in_.bits(1) != 0) (void)in_.number(kPointer);
      in_.skip(std::size_t{header_.safe_points} * tracked_);
    }
    const std::uint32_t width = in_.number(kPointer);
    if (width == 0 || !narrow(width)) return;  // no slot ever lives
    const std::size_t table = in_.position();
    const std::uint64_t chunks = (interruptible_ + (1u << kChunkBits) - 1) >> kChunkBits;
    const std::uint64_t ours = *at_ >> kChunkBits;
    if (!fits(ours + 1, width)) return;
    std::uint64_t chunk = ours + 1;
    std::uint32_t pointer = 0;
    while (pointer == 0 && chunk != 0) {
      in_.seek(table + --chunk * width);
      pointer = in_.bits(width);
    }
    if (pointer == 0) return;
    in_.seek(whole_byte(table + chunks * width) + pointer - 1);
    read_set();
    if (in_.ok() && is_ok_) end_of_chunk(chunk == ours);
  }
  /// The set has the slots that live somewhere in the chunk. Keeps those that live at `at_`, or in an earlier chunk at
  /// its end.
  void end_of_chunk(bool is_ours) {
    std::size_t final_state = in_.position();
    in_.skip(static_cast<std::size_t>(std::count(live_.begin(), live_.end(), true)));
    const auto within = static_cast<std::uint32_t>(*at_ & ((1u << kChunkBits) - 1));
    for (std::size_t i = 0; i < tracked_ && in_.ok(); i++) {
      if (!live_[i]) continue;
      const std::size_t changes = in_.position();
      in_.seek(final_state++);
      bool lives = in_.bits(1) != 0;
      in_.seek(changes);
      while (is_ours && in_.bits(1) != 0)
        if (in_.bits(kChunkBits) > within) lives = !lives;
      live_[i] = lives;
    }
  }

  [[nodiscard]] bool narrow(std::uint64_t width) {
    is_ok_ = is_ok_ && (width <= 32 || !in_.ok());
    return in_.ok() && is_ok_;
  }
  [[nodiscard]] static std::size_t whole_byte(std::size_t bit) { return (bit + 7) & ~std::size_t{7}; }

  BitReader in_;
  const GcInfoCpu& cpu_;
  const GcInfoHeader& header_;
  const LiveSlotsQuery& query_;
  std::uint32_t offset_;                // in units of the code (code_shift)
  std::optional<std::uint32_t> point_;  // the number of the safe point
  std::optional<std::uint64_t> at_;     // the offset in the ranges, laid end to end
  std::uint64_t interruptible_ = 0;     // length of all ranges
  std::vector<GcSlot> slots_;
  std::size_t tracked_ = 0;  // the first slots, up to here, are tracked
  std::vector<bool> live_;
  bool is_ok_ = true;  // no value so far is impossible
};

}  // namespace

Result<LiveSlots> decode_live_slots(std::span<const std::byte> bytes, Arch arch, std::uint32_t version,
                                    const LiveSlotsQuery& query) {
  const auto header = decode_gc_info_header(bytes, arch, version);
  if (!header) return fail(header.error());
  // A call that ends the method returns to the method's end.
  if (query.offset > header->code_length) return fail(ErrorCode::invalid_argument, query.offset);
  return Body(bytes, gcinfo::cpu(arch), *header, query).live();
}

}  // namespace mixstack::dotnet
