#include "engine/unwind/prologue/aarch64/instruction.h"

#include "base/system/byte_cursor.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::prologue::aarch64 {
namespace {

using aarch64_reg::sp;

/// `bits` bits from `shift` on, as a signed number.
constexpr std::int64_t signed_field(std::uint32_t w, unsigned shift, unsigned bits) {
  const auto v = static_cast<std::int64_t>(w >> shift & ((1u << bits) - 1));
  return v >= (std::int64_t{1} << (bits - 1)) ? v - (std::int64_t{1} << bits) : v;
}
constexpr std::uint8_t reg_at(std::uint32_t w, unsigned shift) { return static_cast<std::uint8_t>(w >> shift & 31); }
/// As data, 31 is the zero register.
constexpr std::uint8_t data_at(std::uint32_t w, unsigned shift) {
  return reg_at(w, shift) == 31 ? kNoRegister : reg_at(w, shift);
}

/// `mode` of pairs and of single transfers: 1 post-index, 3 pre-index.
void place(Instruction& i, std::uint8_t base, std::int64_t offset, unsigned mode) {
  i.base = base;
  i.offset = mode == 1 || mode == 3 ? 0 : offset;
  if (base != sp) {
    // Write-back to another register: nothing of the frame is addressed through it.
    if (mode == 1 || mode == 3) i.effect = Effect::none;
    return;
  }
  if (mode == 3) i.sp_before = offset;
  if (mode == 1) i.sp_after = offset;
}

/// stp, ldp of X or D registers. A D register is written as "no register": only its write-back counts.
bool pair(std::uint32_t w, Instruction& i) {
  if ((w & 0x3a000000u) != 0x28000000u) return false;
  const bool vector = (w >> 26 & 1) != 0;
  const unsigned opc = w >> 30;
  const unsigned size = vector ? 4u << opc : opc == 2 ? 8 : 4;
  const bool load = (w >> 22 & 1) != 0;
  i.effect = load ? Effect::restore : Effect::save;
  if (!vector && size == 8) {
    i.regs[0] = data_at(w, 0);
    i.regs[1] = data_at(w, 10);
  }
  place(i, reg_at(w, 5), signed_field(w, 15, 7) * size, w >> 23 & 3);
  return true;
}

/// str, ldr with an unsigned scaled or a signed nine-bit offset.
bool single(std::uint32_t w, Instruction& i) {
  const bool scaled = (w & 0x3b000000u) == 0x39000000u;
  const bool unscaled = (w & 0x3b200000u) == 0x38000000u;
  const unsigned mode = w >> 10 & 3;
  if (!scaled && (!unscaled || mode == 2)) return false;
  const bool vector = (w >> 26 & 1) != 0;
  const unsigned opc = w >> 22 & 3;
  const unsigned log2 = vector && (opc & 2) != 0 ? 4 : w >> 30;
  if (!vector && log2 == 3 && opc == 2) return true;  // prefetch
  const bool load = (opc & 1) != 0 || (!vector && opc != 0);
  i.effect = load ? Effect::restore : Effect::save;
  if (!vector && log2 == 3) i.regs[0] = data_at(w, 0);
  const std::int64_t offset = scaled ? static_cast<std::int64_t>(w >> 10 & 0xfff) << log2 : signed_field(w, 12, 9);
  place(i, reg_at(w, 5), offset, scaled ? 0 : mode);
  return true;
}

bool arithmetic(std::uint32_t w, Instruction& i) {
  if ((w & 0x9f000000u) == 0x91000000u) {  // add, sub of 64 bits with an immediate
    const bool sets_flags = (w >> 29 & 1) != 0;
    if (sets_flags && reg_at(w, 0) == 31) return true;  // cmp, cmn
    std::int64_t n = static_cast<std::int64_t>(w >> 10 & 0xfff) << ((w >> 22 & 1) != 0 ? 12 : 0);
    if ((w >> 30 & 1) != 0) n = -n;
    i.effect = Effect::set_address;
    i.regs[0] = reg_at(w, 0);
    i.base = reg_at(w, 5);
    i.offset = n;
    return true;
  }
  if ((w & 0xbfe0ffffu) == 0x8b2063ffu) {  // add, sub sp, sp, xN
    i.effect = Effect::move_sp_by_register;
    i.regs[0] = reg_at(w, 16);
    i.offset = (w >> 30 & 1) != 0 ? -1 : 1;
    return true;
  }
  if ((w & 0xff20001fu) == 0xcb20001fu || (w & 0xff80001fu) == 0x9200001fu) {  // other arithmetic on sp: alignment
    i.effect = Effect::lose_register;
    i.regs[0] = sp;
    return true;
  }
  if ((w & 0x9f800000u) == 0x92800000u && (w >> 29 & 3) != 1) {  // movn, movz, movk
    const unsigned opc = w >> 29 & 3;
    const auto shift = static_cast<std::uint8_t>((w >> 21 & 3) * 16);
    const std::uint64_t n = std::uint64_t{w >> 5 & 0xffff} << shift;
    i.effect = opc == 3 ? Effect::insert_constant : Effect::set_constant;
    i.regs[0] = reg_at(w, 0);
    i.shift = shift;
    i.offset = static_cast<std::int64_t>(opc == 0 ? ~n : n);
    if (opc == 3) i.offset = static_cast<std::int64_t>(w >> 5 & 0xffff);
    return true;
  }
  return false;
}

bool flow(std::uint32_t w, Instruction& i) {
  const auto to = [&](Effect effect, std::int64_t words) {
    i.effect = effect;
    i.target = words * 4;
    return true;
  };
  if ((w & 0xfc000000u) == 0x14000000u) return to(Effect::jump, signed_field(w, 0, 26));
  if ((w & 0xff000010u) == 0x54000000u) return to(Effect::branch, signed_field(w, 5, 19));
  if ((w & 0x7e000000u) == 0x34000000u) return to(Effect::branch, signed_field(w, 5, 19));
  if ((w & 0x7e000000u) == 0x36000000u) return to(Effect::branch, signed_field(w, 5, 14));
  if ((w & 0xfc000000u) == 0x94000000u) return to(Effect::call, signed_field(w, 0, 26));
  if ((w & 0xfe000000u) == 0xd6000000u) {  // branches to a register
    const unsigned opc = w >> 21 & 7;      // 0 br, 1 blr, 2 ret, and with authentication
    i.effect = opc == 1 ? Effect::call : opc == 0 ? Effect::jump : Effect::end;
    return true;
  }
  if ((w & 0xffe0001fu) == 0xd4200000u || (w & 0xffff0000u) == 0) {  // brk, udf
    i.effect = Effect::trap;
    return true;
  }
  return false;
}

/// adr and adrp: no effect on the frame, but they make an address.
bool made_address(std::uint32_t w, Instruction& i) {
  if ((w & 0x1f000000u) != 0x10000000u) return false;
  const std::int64_t n = signed_field(w, 5, 19) * 4 + static_cast<std::int64_t>(w >> 29 & 3);
  i.makes_page = w >> 31 != 0;
  if (!i.makes_page) {
    i.target = n;
    return true;
  }
  i.regs[0] = data_at(w, 0);
  i.offset = n * 4096;
  return true;
}

bool authentication(std::uint32_t w, Instruction& i) {
  if (w == 0xd503233fu || w == 0xd503237fu) i.effect = Effect::sign_lr;    // paciasp, pacibsp
  if (w == 0xd50323bfu || w == 0xd50323ffu) i.effect = Effect::unsign_lr;  // autiasp, autibsp
  return i.effect != Effect::none;
}

}  // namespace

Instruction decode(std::span<const std::byte> code) {
  Instruction i;
  const auto word = base::load_at<std::uint32_t>(code, 0);
  if (!word) return i;
  i.length = 4;
  i.is_padding = *word == 0xd503201fu;
  (void)(authentication(*word, i) || flow(*word, i) || pair(*word, i) || single(*word, i) || arithmetic(*word, i) ||
         made_address(*word, i));
  return i;
}

}  // namespace mixstack::unwind::prologue::aarch64
