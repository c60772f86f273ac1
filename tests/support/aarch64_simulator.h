// AArch64 for code_simulator.h. Loads, stores and address arithmetic are decoded here from the encoding tables of the
// Arm ARM (C4.1), the rest is left to capstone. For tests only.
#pragma once

#include <cstring>

#include "support/code_simulator.h"

namespace mixstack::test {

class Aarch64Simulator final : public CodeSimulator {
 public:
  Aarch64Simulator(std::span<const std::byte> code, std::uint64_t address)
      : CodeSimulator(CS_ARCH_ARM64, CS_MODE_ARM, code, address) {}

  [[nodiscard]] bool is_call() const override { return insn().id == ARM64_INS_BL || insn().id == ARM64_INS_BLR; }
  [[nodiscard]] bool is_filler() const override {
    return insn().id == ARM64_INS_BRK || insn().id == ARM64_INS_NOP || word() == 0;
  }

 protected:
  [[nodiscard]] SymbolicState entry_state() const override {
    SymbolicState s;
    for (unsigned r = 0; r <= aarch64_reg::lr; r++) s.regs[r] = SymbolicValue::entry(r);
    s.regs[aarch64_reg::sp] = SymbolicValue::address(0);
    return s;
  }
  [[nodiscard]] unsigned stack_pointer() const override { return aarch64_reg::sp; }
  [[nodiscard]] unsigned frame_pointer() const override { return aarch64_reg::fp; }

  /// The JIT puts jump tables behind the code and reads them by `adr xN, table; ldr wM, [xN, xI, lsl #2]`.
  [[nodiscard]] std::uint64_t code_end(std::uint64_t begin, std::uint64_t end) override {
    std::uint32_t previous = 0;
    for (std::uint64_t at = begin; at < end; at += 4) {
      if (decode(at, end) == 0) {
        previous = 0;
        continue;
      }
      const std::uint32_t w = word();
      if ((previous & 0x9f000000) == 0x10000000 && (w & 0xffe0fc00) == 0xb8607800 && (w >> 5 & 31) == (previous & 31)) {
        const auto table = at - 4 + static_cast<std::uint64_t>(field(previous, 5, 19) * 4 + (previous >> 29 & 3));
        if (table > at && table < end) end = table;
      }
      previous = w;
    }
    return end;
  }

  [[nodiscard]] Flow flow() const override {
    const std::uint32_t w = word();
    const auto at = insn().address;
    const auto relative = [&](std::int64_t words) { return at + static_cast<std::uint64_t>(words * 4); };
    if ((w & 0xfffffc1f) == 0xd65f0000 || (w & 0xfffffc1f) == 0xd61f0000 || (w & 0xffe0001f) == 0xd4200000) {
      return {false, {}};  // ret, br, brk
    }
    if ((w & 0xfc000000) == 0x14000000) return {false, {relative(field(w, 0, 26))}};  // b
    if ((w & 0xff000010) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {           // b.cond, cbz, cbnz
      return {true, {relative(field(w, 5, 19))}};
    }
    if ((w & 0x7e000000) == 0x36000000) return {true, {relative(field(w, 5, 14))}};  // tbz, tbnz
    return {true, {}};
  }

  [[nodiscard]] unsigned dwarf_of(unsigned reg) const override {
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) return reg - ARM64_REG_X0;
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30) return reg - ARM64_REG_W0;
    if (reg == ARM64_REG_X29) return aarch64_reg::fp;
    if (reg == ARM64_REG_X30) return aarch64_reg::lr;
    if (reg == ARM64_REG_SP || reg == ARM64_REG_WSP) return aarch64_reg::sp;
    return Registers::kMax;
  }

  void execute(SimulatedFunction& f, SymbolicState& s) override {
    const std::uint32_t w = word();
    if (is_call()) {
      for (unsigned r = 0; r <= 17; r++) set(f, s, r, {});
      set(f, s, aarch64_reg::lr, {});
    } else if ((w & 0x3a000000) == 0x28000000) {
      pair(f, s, w);
    } else if ((w & 0x3b000000) == 0x39000000) {
      single(f, s, w, static_cast<std::int64_t>(w >> 10 & 0xfff) << access_log2(w), 0);
    } else if ((w & 0x3b200000) == 0x38000000 && (w >> 10 & 3) != 2) {
      single(f, s, w, field(w, 12, 9), w >> 10 & 3);
    } else if ((w & 0x1f000000) == 0x11000000 && w >> 31 == 1) {
      add_immediate(f, s, w);
    } else if ((w & 0x9f800000) == 0x92800000 && (w >> 29 & 3) != 1) {
      move_wide(f, s, w);
    } else if ((w & 0xbfe0ffff) == 0x8b2063ff) {  // add or sub sp, sp, xN
      const auto by = s.regs[w >> 16 & 31];
      const auto at = s.address(aarch64_reg::sp);
      const bool known = at && by.kind == SymbolicValue::Kind::constant;
      set(f, s, aarch64_reg::sp,
          known ? SymbolicValue::address(*at + ((w >> 30 & 1) != 0 ? -by.value : by.value)) : SymbolicValue{});
    } else if ((w & 0xffe0ffe0) == 0xaa0003e0) {
      set(f, s, w & 31, integer(s, w >> 16 & 31));
    } else {
      forget_written(f, s);
    }
  }

 private:
  [[nodiscard]] std::uint32_t word() const {
    std::uint32_t w = 0;
    std::memcpy(&w, insn().bytes, 4);
    return w;
  }
  static std::int64_t field(std::uint32_t w, unsigned shift, unsigned bits) {
    const auto v = static_cast<std::int64_t>(w >> shift & ((1u << bits) - 1));
    return v >> (bits - 1) != 0 ? v - (std::int64_t{1} << bits) : v;
  }
  /// Register 31 as an operand of data processing is the zero register.
  static SymbolicValue integer(const SymbolicState& s, unsigned reg) {
    return reg == 31 ? SymbolicValue{} : s.regs[reg];
  }
  static unsigned access_log2(std::uint32_t w) {
    const bool vector128 = (w >> 26 & 1) != 0 && (w >> 23 & 1) != 0;
    return vector128 ? 4 : w >> 30;
  }

  /// `mode` 1 is post-index, 3 pre-index, others no write-back.
  std::optional<std::int64_t> effective(SimulatedFunction& f, SymbolicState& s, unsigned base, std::int64_t offset,
                                        unsigned mode) {
    const auto start = s.address(base);
    if (mode == 1 || mode == 3) set(f, s, base, start ? SymbolicValue::address(*start + offset) : SymbolicValue{});
    if (!start) return std::nullopt;
    return mode == 1 ? *start : *start + offset;
  }

  void transfer(SimulatedFunction& f, SymbolicState& s, bool load, bool vector, unsigned reg, unsigned size,
                std::optional<std::int64_t> at, std::int64_t offset, SymbolicValue stored) {
    if (load) {
      if (!vector && reg != 31) set(f, s, reg, at && size == 8 ? s.load(*at + offset) : SymbolicValue{});
    } else if (at) {
      s.clear(*at + offset, size);
      if (!vector && size == 8) s.store(*at + offset, stored);
    }
  }

  void pair(SimulatedFunction& f, SymbolicState& s, std::uint32_t w) {
    const bool vector = (w >> 26 & 1) != 0;
    const bool load = (w >> 22 & 1) != 0;
    const unsigned opc = w >> 30;
    const unsigned size = vector ? 4u << opc : opc == 2 ? 8 : 4;
    const unsigned first = w & 31;
    const unsigned second = w >> 10 & 31;
    const SymbolicValue a = integer(s, first);
    const SymbolicValue b = integer(s, second);
    const auto at = effective(f, s, w >> 5 & 31, field(w, 15, 7) * size, w >> 23 & 3);
    transfer(f, s, load, vector, first, size, at, 0, a);
    transfer(f, s, load, vector, second, size, at, size, b);
  }

  void single(SimulatedFunction& f, SymbolicState& s, std::uint32_t w, std::int64_t offset, unsigned mode) {
    const bool vector = (w >> 26 & 1) != 0;
    const unsigned opc = w >> 22 & 3;
    if (!vector && (w >> 30) == 3 && opc == 2) return;  // prefetch
    const bool load = vector ? (opc & 1) != 0 : opc != 0;
    const unsigned size = 1u << access_log2(w);
    const SymbolicValue stored = integer(s, w & 31);
    const auto at = effective(f, s, w >> 5 & 31, offset, mode);
    transfer(f, s, load, vector, w & 31, size, at, 0, stored);
  }

  /// movn, movz, movk
  void move_wide(SimulatedFunction& f, SymbolicState& s, std::uint32_t w) {
    const unsigned shift = (w >> 21 & 3) * 16;
    const std::uint64_t n = std::uint64_t{w >> 5 & 0xffff} << shift;
    const SymbolicValue old = s.regs[w & 31];
    SymbolicValue v{SymbolicValue::Kind::constant, static_cast<std::int64_t>(n)};
    if ((w >> 29 & 3) == 0) v.value = ~v.value;
    if ((w >> 29 & 3) == 3) {
      const auto cleared = static_cast<std::uint64_t>(old.value) & ~(std::uint64_t{0xffff} << shift);
      v.value = static_cast<std::int64_t>(cleared | n);
      if (old.kind != SymbolicValue::Kind::constant) v = {};
    }
    if ((w & 31) != 31) set(f, s, w & 31, v);
  }

  void add_immediate(SimulatedFunction& f, SymbolicState& s, std::uint32_t w) {
    const bool flags = (w >> 29 & 1) != 0;
    const unsigned rd = w & 31;
    if (flags && rd == 31) return;  // cmp, cmn
    std::int64_t n = static_cast<std::int64_t>(w >> 10 & 0xfff) << ((w >> 22 & 1) != 0 ? 12 : 0);
    if ((w >> 30 & 1) != 0) n = -n;
    const SymbolicValue source = s.regs[w >> 5 & 31];
    SymbolicValue v;
    if (source.kind == SymbolicValue::Kind::sp_relative) v = SymbolicValue::address(source.value + n);
    if (n == 0) v = source;
    set(f, s, rd, v);
  }
};

}  // namespace mixstack::test
