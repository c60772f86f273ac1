// Input: four bytes of code and their address. Output: one Instruction.
// Algorithm: the groups of the manual (Arm ARM, C4), as far as short functions use them: addresses, constants, sums,
// loads and stores of one or two registers, jumps, calls. Vector instructions do nothing here, and forget the general
// register that they write. Everything else is `not_known`, so that a trace ends there.
// Bounds: no loop but that over the bits of a logical constant.
#include "dotnet/counters/aarch64/instruction.h"

#include "base/system/byte_cursor.h"

namespace mixstack::dotnet::counters::aarch64 {
namespace {

constexpr std::uint8_t kLast = 31;  // the stack pointer or zero

constexpr Condition kConditions[] = {
    Condition::equal,        Condition::not_equal, Condition::not_below,   Condition::below,      Condition::negative,
    Condition::not_negative, Condition::overflow,  Condition::no_overflow, Condition::above,      Condition::not_above,
    Condition::not_less,     Condition::less,      Condition::greater,     Condition::not_greater};

Operand constant(std::uint64_t value) {
  Operand o;
  o.kind = Operand::Kind::constant;
  o.value = value;
  return o;
}
Operand reg(std::uint32_t number) {
  Operand o;
  o.kind = Operand::Kind::reg;
  o.reg = static_cast<std::uint8_t>(number);
  return o;
}
/// Register 31 reads as zero.
Operand or_zero(std::uint32_t number) { return number == kLast ? constant(0) : reg(number); }
/// Register 31 is written to nowhere.
Operand or_nowhere(std::uint32_t number) { return number == kLast ? Operand{} : reg(number); }
Operand memory(std::uint32_t base, std::int64_t offset) {
  Operand o;
  o.kind = Operand::Kind::memory;
  o.reg = static_cast<std::uint8_t>(base);
  o.value = static_cast<std::uint64_t>(offset);
  return o;
}

std::uint64_t ones(unsigned n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

/// The constant of a logical instruction (DecodeBitMasks); 0: there is none such.
std::uint64_t logical_constant(std::uint32_t n, std::uint32_t immr, std::uint32_t imms, unsigned bits) {
  unsigned length = 6;
  const std::uint32_t all = n << 6 | (~imms & 0x3f);
  while (length > 0 && (all >> length & 1) == 0) length--;
  if (length == 0) return 0;
  const unsigned size = 1u << length, s = imms & (size - 1), r = immr & (size - 1);
  if (s == size - 1 || size > bits) return 0;
  std::uint64_t element = ones(s + 1);
  if (r != 0) element = (element >> r | element << (size - r)) & ones(size);
  std::uint64_t out = 0;
  for (unsigned at = 0; at < bits; at += size) out |= element << at;
  return out;
}

class Decoder {
 public:
  Decoder(std::uint32_t code, Address at) : code_(code), at_(at) {
    out_.size = bit(31) ? 8 : 4;
    out_.length = 4;
  }

  Instruction decode() {
    const std::uint32_t group = field(25, 4);
    if (group == 8 || group == 9)
      constants();
    else if (group == 10 || group == 11)
      jumps();
    else if ((group & 5) == 4)
      loads();
    else if ((group & 7) == 5)
      registers();
    else if ((group & 7) == 7)
      vectors();
    return out_.action == Action::not_known ? Instruction{} : out_;
  }

 private:
  [[nodiscard]] std::uint32_t field(unsigned low, unsigned width) const {
    return code_ >> low & ((std::uint32_t{1} << width) - 1);
  }
  [[nodiscard]] bool bit(unsigned n) const { return field(n, 1) != 0; }
  [[nodiscard]] bool is(std::uint32_t mask, std::uint32_t value) const { return (code_ & mask) == value; }
  [[nodiscard]] std::int64_t signed_field(unsigned low, unsigned width) const {
    const auto sign = std::int64_t{1} << (width - 1);
    return (std::int64_t{field(low, width)} ^ sign) - sign;
  }
  [[nodiscard]] std::uint32_t rd() const { return field(0, 5); }
  [[nodiscard]] std::uint32_t rn() const { return field(5, 5); }
  [[nodiscard]] std::uint32_t rm() const { return field(16, 5); }

  void set(Action action, const Operand& to, const Operand& left, const Operand& right = {}) {
    out_.action = action;
    out_.to = to;
    out_.left = left;
    out_.right = right;
  }
  /// A sum, a difference, or only its flags.
  void sum(bool is_difference, bool flags, const Operand& to, const Operand& left, const Operand& right) {
    set(is_difference ? Action::subtract : Action::add, to, left, right);
    out_.sets_flags = flags;
  }
  void logical(const Operand& right, const Operand& left) {
    static constexpr Action kActions[] = {Action::bit_and, Action::bit_or, Action::bit_xor, Action::bit_and};
    const unsigned which = field(29, 2);
    set(kActions[which], or_nowhere(rd()), left, right);
    out_.sets_flags = which == 3;
  }

  void constants() {
    if (is(0x1f000000, 0x10000000)) {
      const std::int64_t distance = signed_field(5, 19) * 4 + std::int64_t{field(29, 2)};
      const Address base = bit(31) ? at_ & ~Address{0xfff} : at_;
      out_.size = 8;
      return set(Action::move, or_nowhere(rd()),
                 constant(base + static_cast<std::uint64_t>(bit(31) ? distance * 4096 : distance)));
    }
    if (is(0x1f800000, 0x11000000)) {
      const std::uint64_t value = std::uint64_t{field(10, 12)} << (bit(22) ? 12 : 0);
      return sum(bit(30), bit(29), bit(29) ? or_nowhere(rd()) : reg(rd()), reg(rn()), constant(value));
    }
    if (is(0x1f800000, 0x12000000)) {
      const std::uint64_t value = logical_constant(field(22, 1), field(16, 6), field(10, 6), 8u * out_.size);
      if (value == 0) return;
      logical(constant(value), or_zero(rn()));
      if (!out_.sets_flags) out_.to = reg(rd());  // of these, 31 is the stack pointer
      return;
    }
    if (is(0x1f800000, 0x12800000)) {
      const std::uint64_t value = std::uint64_t{field(5, 16)} << (16 * field(21, 2));
      if (field(29, 2) == 2) return set(Action::move, or_nowhere(rd()), constant(value));
      if (field(29, 2) == 0) return set(Action::move, or_nowhere(rd()), constant(~value));
      return;
    }
    if (is(0x1f800000, 0x13000000)) bit_fields();
  }

  /// Shifts to the left by a constant, and extensions.
  void bit_fields() {
    const std::uint32_t immr = field(16, 6), imms = field(10, 6), bits = 8u * out_.size, kind = field(29, 2);
    if (kind == 2 && imms + 1 == immr && imms != bits - 1)
      return set(Action::shift_left, or_nowhere(rd()), or_zero(rn()), constant(bits - immr));
    const bool is_extension = immr == 0 && (imms == 7 || imms == 15 || imms == 31) && (kind == 0 || kind == 2);
    if (!is_extension) return;
    set(Action::move, or_nowhere(rd()), or_zero(rn()));
    out_.from_size = static_cast<std::uint8_t>((imms + 1) / 8);
    out_.is_signed = kind == 0;
  }

  void jump(Action action, std::int64_t words) {
    set(action, {}, constant(at_ + static_cast<std::uint64_t>(words * 4)));
  }

  void jumps() {
    if (is(0x7c000000, 0x14000000)) return jump(bit(31) ? Action::call : Action::jump, signed_field(0, 26));
    if (is(0xff000010, 0x54000000)) {
      if (field(0, 4) >= 14) return jump(Action::jump, signed_field(5, 19));
      out_.condition = kConditions[field(0, 4)];
      return jump(Action::jump_if, signed_field(5, 19));
    }
    if (is(0x7e000000, 0x34000000)) return jump_bits(~std::uint64_t{0}, signed_field(5, 19));
    if (is(0x7e000000, 0x36000000)) {
      out_.size = 8;
      return jump_bits(std::uint64_t{1} << (field(19, 5) | field(31, 1) << 5), signed_field(5, 14));
    }
    out_.size = 8;
    if (is(0xfffffc1f, 0xd61f0000)) return set(Action::jump, {}, or_zero(rn()));
    if (is(0xfffffc1f, 0xd63f0000)) return set(Action::call, {}, or_zero(rn()));
    if (is(0xfffffc1f, 0xd65f0000)) return set(Action::give_back, {}, or_zero(rn()));
    if (is(0xfffff01f, 0xd503201f)) return set(Action::nothing, {}, {});  // nop, bti, pac
    if (is(0xffffffe0, 0xd53bd040)) {                                     // mrs tpidr_el0
      Operand block = memory(kNoRegister, 0);
      block.is_thread_local = true;
      return set(Action::address, or_nowhere(rd()), block);
    }
  }
  void jump_bits(std::uint64_t bits, std::int64_t words) {
    out_.condition = bit(24) ? Condition::not_equal : Condition::equal;
    jump(Action::jump_bits, words);
    out_.right = or_zero(rd());
    out_.added = constant(bits);
  }

  void loads() {
    const bool is_vector = bit(26);
    if (is(0x3a000000, 0x28000000)) return pair(is_vector);
    const auto size = static_cast<std::uint8_t>(1u << field(30, 2));
    if (is(0x3b000000, 0x39000000))
      return access(size, is_vector, memory(rn(), std::int64_t{field(10, 12)} * scale(size)));
    if (is(0x3b200000, 0x38000000) && field(10, 2) != 2) {
      const std::int64_t offset = signed_field(12, 9);
      if (field(10, 2) == 0) return access(size, is_vector, memory(rn(), offset));
      move(rn(), offset, field(10, 2) == 3);
      return access(size, is_vector, memory(rn(), 0));
    }
    if (is(0x3b200c00, 0x38200800) && (field(13, 3) == 3 || field(13, 3) == 7)) {
      Operand place = memory(rn(), 0);
      if (rm() != kLast) place.index = static_cast<std::uint8_t>(rm());
      place.scale = bit(12) ? size : 1;
      return access(size, is_vector, place);
    }
    // ldar, ldapr
    if (is(0x3ffffc00, 0x08dffc00) || is(0x3ffffc00, 0x38bfc000)) {
      out_.size = size;
      set(Action::move, or_nowhere(rd()), memory(rn(), 0));
      widen(size, false, size == 8);
    }
  }
  /// The unit of a scaled offset; of vectors it may be 16.
  [[nodiscard]] std::int64_t scale(std::uint8_t size) const {
    return bit(26) && bit(23) && size == 1 ? 16 : std::int64_t{size};
  }
  void move(std::uint32_t base, std::int64_t by, bool before) {
    out_.moved = static_cast<std::uint8_t>(base);
    out_.move_by = by;
    out_.is_moved_before = before;
  }
  void widen(std::uint8_t size, bool is_signed, bool is_wide) {
    out_.size = is_wide ? 8 : 4;
    out_.from_size = size;
    out_.is_signed = is_signed;
  }
  void access(std::uint8_t size, bool is_vector, const Operand& place) {
    const std::uint32_t kind = field(22, 2);
    if (is_vector) {
      if ((kind & 1) != 0) return set(Action::nothing, {}, {});
      out_.size = 16;
      return set(Action::forget, place, {});
    }
    if (kind == 0) {
      out_.size = size;
      return set(Action::move, place, or_zero(rd()));
    }
    if (size == 8 && kind != 1) return;  // prefetch
    set(Action::move, or_nowhere(rd()), place);
    widen(size, kind != 1, size == 8 || kind == 2);
  }
  void pair(bool is_vector) {
    const std::uint32_t opc = field(30, 2), form = field(23, 2);
    const std::uint8_t size = is_vector ? static_cast<std::uint8_t>(4u << opc) : opc == 2 ? 8 : 4;
    if (!is_vector && opc != 0 && opc != 2) return;
    const std::int64_t offset = signed_field(15, 7) * size;
    if (form == 1 || form == 3) move(rn(), offset, form == 3);
    const std::int64_t inside = form == 1 || form == 3 ? 0 : offset;
    const Operand first = memory(rn(), inside), second = memory(rn(), inside + size);
    out_.size = size;
    if (is_vector) {
      if (bit(22)) return set(Action::nothing, {}, {});
      out_.size = static_cast<std::uint8_t>(2 * size);
      return set(Action::forget, first, {});
    }
    if (bit(22)) {
      set(Action::move, or_nowhere(rd()), first);
      out_.second_to = or_nowhere(field(10, 5));
      out_.second_left = second;
    } else {
      set(Action::move, first, or_zero(rd()));
      out_.second_to = second;
      out_.second_left = or_zero(field(10, 5));
    }
  }

  void registers() {
    const std::uint32_t shift = field(10, 6);
    if (is(0x1f200000, 0x0b000000)) {
      if (shift == 0) return sum(bit(30), bit(29), or_nowhere(rd()), or_zero(rn()), or_zero(rm()));
      // add with a shift to the left is an address.
      if (bit(30) || bit(29) || field(22, 2) != 0 || shift > 4 || rn() == kLast || rm() == kLast || !bit(31)) return;
      Operand place = memory(rn(), 0);
      place.index = static_cast<std::uint8_t>(rm());
      place.scale = static_cast<std::uint8_t>(1u << shift);
      return set(Action::address, or_nowhere(rd()), place);
    }
    if (is(0x1f200000, 0x0a000000) && shift == 0) return logical(or_zero(rm()), or_zero(rn()));
    if (is(0x3fe00800, 0x1a800000) && !bit(30) && field(12, 4) < 14) {
      out_.condition = kConditions[field(12, 4)];
      if (!bit(10)) return set(Action::choose, or_nowhere(rd()), or_zero(rn()), or_zero(rm()));
      if (rm() == kLast) return set(Action::choose, or_nowhere(rd()), or_zero(rn()), constant(1));
      return;
    }
    const bool is_long = is(0xffe08000, 0x9b200000) || is(0xffe08000, 0x9ba00000);
    if (!is(0x7fe08000, 0x1b000000) && !is_long) return;
    set(Action::multiply, or_nowhere(rd()), or_zero(rn()), or_zero(rm()));
    if (field(10, 5) != kLast) out_.added = reg(field(10, 5));
    if (is_long) out_.from_size = 4;
    out_.is_signed = is_long && !bit(23);
  }

  void vectors() {
    // Between vector and general registers: scvtf, ucvtf and fmov read the general one, the others write it.
    if (is(0x5f20fc00, 0x1e200000)) {
      const std::uint32_t kind = field(16, 3);
      if (kind == 2 || kind == 3 || kind == 7) return set(Action::nothing, {}, {});
      return set(Action::forget, or_nowhere(rd()), {});
    }
    const bool is_scalar = is(0x5f200000, 0x1e200000) && !is(0x00003c00, 0x00002000);  // no comparison
    const bool is_constant = is(0x9ff80400, 0x0f000400), is_conversion = is(0xdf3e0c00, 0x5e200800);
    if (is_scalar || is_constant || is_conversion) set(Action::nothing, {}, {});
  }

  std::uint32_t code_;
  Address at_;
  Instruction out_;
};

}  // namespace

Instruction decode(std::span<const std::byte> code, Address at) {
  const auto bytes = base::load_at<std::uint32_t>(code, 0);
  return bytes ? Decoder(*bytes, at).decode() : Instruction{};
}

}  // namespace mixstack::dotnet::counters::aarch64
