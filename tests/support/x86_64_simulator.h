// x86-64 for code_simulator.h. For tests only.
#pragma once

#include <initializer_list>
#include <optional>

#include "support/code_simulator.h"

namespace mixstack::test {

class X8664Simulator final : public CodeSimulator {
 public:
  X8664Simulator(std::span<const std::byte> code, std::uint64_t address)
      : CodeSimulator(CS_ARCH_X86, CS_MODE_64, code, address) {}

  [[nodiscard]] bool is_call() const override { return insn().id == X86_INS_CALL; }
  [[nodiscard]] bool is_filler() const override { return insn().id == X86_INS_INT3 || insn().id == X86_INS_NOP; }

 protected:
  [[nodiscard]] SymbolicState entry_state() const override {
    SymbolicState s;
    for (unsigned r = 0; r < x86_64_reg::rip; r++) s.regs[r] = SymbolicValue::entry(r);
    s.regs[x86_64_reg::rsp] = SymbolicValue::address(0);
    s.slots[0] = SymbolicValue::entry(x86_64_reg::rip);
    return s;
  }
  [[nodiscard]] unsigned stack_pointer() const override { return x86_64_reg::rsp; }
  [[nodiscard]] unsigned frame_pointer() const override { return x86_64_reg::rbp; }

  [[nodiscard]] Flow flow() const override {
    const auto id = insn().id;
    if (id == X86_INS_RET || id == X86_INS_INT3 || id == X86_INS_UD2 || id == X86_INS_HLT) return {false, {}};
    Flow next{id != X86_INS_JMP, {}};
    const auto& x86 = insn().detail->x86;
    if (is_in(CS_GRP_JUMP) && x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM) {
      next.targets.push_back(static_cast<std::uint64_t>(x86.operands[0].imm));
    }
    return next;
  }

  [[nodiscard]] unsigned dwarf_of(unsigned reg) const override {
    using namespace x86_64_reg;
    static const std::map<unsigned, unsigned> kMap = [] {
      std::map<unsigned, unsigned> m;
      const auto add = [&](unsigned dwarf, std::initializer_list<unsigned> names) {
        for (unsigned n : names) m[n] = dwarf;
      };
      add(rax, {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH});
      add(rbx, {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH});
      add(rcx, {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH});
      add(rdx, {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH});
      add(rsi, {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL});
      add(rdi, {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL});
      add(rbp, {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL});
      add(rsp, {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL});
      add(r8, {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B});
      add(r9, {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B});
      add(r10, {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B});
      add(r11, {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B});
      add(r12, {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B});
      add(r13, {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B});
      add(r14, {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B});
      add(r15, {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B});
      return m;
    }();
    const auto it = kMap.find(reg);
    return it == kMap.end() ? Registers::kMax : it->second;
  }

  void execute(SimulatedFunction& f, SymbolicState& s) override {
    const auto* op = insn().detail->x86.operands;
    const auto sp = s.address(x86_64_reg::rsp);
    switch (insn().id) {
      case X86_INS_PUSH:
        push(s, sp, op[0].type == X86_OP_REG ? s.regs[dwarf_of(op[0].reg)] : SymbolicValue{});
        return;
      case X86_INS_POP:
        set(f, s, dwarf_of(op[0].reg), sp ? s.load(*sp) : SymbolicValue{});
        if (sp) s.regs[x86_64_reg::rsp] = SymbolicValue::address(*sp + 8);
        return;
      case X86_INS_LEAVE:
        if (const auto frame = s.address(x86_64_reg::rbp)) {
          set(f, s, x86_64_reg::rbp, s.load(*frame));
          s.regs[x86_64_reg::rsp] = SymbolicValue::address(*frame + 8);
          return;
        }
        break;
      case X86_INS_CALL:
        call(f, s);
        return;
      case X86_INS_ADD:
      case X86_INS_SUB:
      case X86_INS_AND:
      case X86_INS_OR:
        if (arithmetic(f, s, op)) return;
        break;
      case X86_INS_LEA:
        if (is_full(op[0].reg)) {
          const auto a = place(s, op[1].mem);
          set(f, s, dwarf_of(op[0].reg), a ? SymbolicValue::address(*a) : SymbolicValue{});
          return;
        }
        break;
      case X86_INS_MOV:
        if (move(f, s, op)) return;
        break;
      default:
        break;
    }
    forget_written(f, s);
    forget_stored(s);
  }

 private:
  static bool is_full(unsigned reg) {
    return (reg >= X86_REG_R8 && reg <= X86_REG_R15) || reg == X86_REG_RAX || reg == X86_REG_RBX ||
           reg == X86_REG_RCX || reg == X86_REG_RDX || reg == X86_REG_RSI || reg == X86_REG_RDI || reg == X86_REG_RBP ||
           reg == X86_REG_RSP;
  }
  std::optional<std::int64_t> place(const SymbolicState& s, const x86_op_mem& m) const {
    if (m.index != X86_REG_INVALID || m.segment != X86_REG_INVALID) return std::nullopt;
    const unsigned base = dwarf_of(m.base);
    if (base >= Registers::kMax) return std::nullopt;
    return s.address(base, m.disp);
  }
  static void push(SymbolicState& s, std::optional<std::int64_t> sp, SymbolicValue value) {
    if (!sp) return;
    s.store(*sp - 8, value);
    s.regs[x86_64_reg::rsp] = SymbolicValue::address(*sp - 8);
  }
  void call(SimulatedFunction& f, SymbolicState& s) {
    using namespace x86_64_reg;
    for (unsigned r : {rax, rcx, rdx, rsi, rdi, r8, r9, r10}) {
      // The Windows convention preserves these two; code that counts on it restores what it never lost.
      const bool maybe_preserved = windows_convention && (r == rsi || r == rdi);
      if (!maybe_preserved) set(f, s, r, {});
    }
    // CoreCLR's stack probe helper keeps r11, which holds the new sp.
    if (s.regs[r11].kind != SymbolicValue::Kind::sp_relative) set(f, s, r11, {});
  }
  bool arithmetic(SimulatedFunction& f, SymbolicState& s, const cs_x86_op* op) {
    if (op[1].type != X86_OP_IMM) return false;
    if (insn().id == X86_INS_OR) return op[1].imm == 0;  // a memory barrier: `lock or [rsp], 0`
    if (op[0].type != X86_OP_REG || !is_full(op[0].reg)) return false;
    const unsigned reg = dwarf_of(op[0].reg);
    auto a = s.address(reg);
    if (insn().id == X86_INS_AND) a.reset();
    const std::int64_t n = insn().id == X86_INS_ADD ? op[1].imm : -op[1].imm;
    set(f, s, reg, a ? SymbolicValue::address(*a + n) : SymbolicValue{});
    return true;
  }
  bool move(SimulatedFunction& f, SymbolicState& s, const cs_x86_op* op) {
    if (op[0].type == X86_OP_REG && is_full(op[0].reg)) {
      SymbolicValue v;
      if (op[1].type == X86_OP_REG && is_full(op[1].reg)) v = s.regs[dwarf_of(op[1].reg)];
      if (op[1].type == X86_OP_MEM) {
        if (const auto a = place(s, op[1].mem)) v = s.load(*a);
      }
      set(f, s, dwarf_of(op[0].reg), v);
      return true;
    }
    if (op[0].type == X86_OP_MEM && op[1].type == X86_OP_REG && is_full(op[1].reg)) {
      if (const auto a = place(s, op[0].mem)) s.store(*a, s.regs[dwarf_of(op[1].reg)]);
      return true;
    }
    return false;
  }
  void forget_stored(SymbolicState& s) const {
    const auto& x86 = insn().detail->x86;
    for (unsigned i = 0; i < x86.op_count; i++) {
      const auto& op = x86.operands[i];
      if (op.type != X86_OP_MEM || (op.access & CS_AC_WRITE) == 0) continue;
      if (const auto a = place(s, op.mem)) s.clear(*a, op.size);
    }
  }

 public:
  bool windows_convention = false;
};

}  // namespace mixstack::test
