// Every function of the installed framework's System.Private.CoreLib (ReadyToRun, AMD64), at every instruction: the
// rule must agree with what executing the code on symbols says.
#include <capstone/capstone.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "arch/x86_64/calling_convention.h"
#include "support/mapped_pe.h"
#include "support/symbolic_frame.h"
#include "unwind/windows/amd64/epilogue.h"
#include "unwind/windows/amd64/rule.h"

namespace mixstack::unwind::windows {
namespace {

using test::SymbolicState;
using test::SymbolicValue;

/// DWARF number of a 64-bit register or of a part of one; kMax for others.
unsigned dwarf_of(unsigned reg) {
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

bool is_full(unsigned reg) {
  return (reg >= X86_REG_R8 && reg <= X86_REG_R15) || reg == X86_REG_RAX || reg == X86_REG_RBX || reg == X86_REG_RCX ||
         reg == X86_REG_RDX || reg == X86_REG_RSI || reg == X86_REG_RDI || reg == X86_REG_RBP || reg == X86_REG_RSP;
}

struct MachineFunction {
  RuntimeFunction row;
  std::map<std::uint32_t, SymbolicState> states;  ///< by RVA of each instruction
  std::uint64_t written = 0;                      ///< registers any reached instruction writes
};

class Simulator {
 public:
  explicit Simulator(std::span<const std::byte> image) : image_(image) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::runtime_error("capstone");
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    insn_ = cs_malloc(handle_);
  }
  ~Simulator() {
    cs_free(insn_, 1);
    cs_close(&handle_);
  }
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  /// The state before every instruction of `row` that control can reach.
  MachineFunction run(const RuntimeFunction& row) {
    MachineFunction f{row, {}, 0};
    SymbolicState entry;
    for (unsigned r = 0; r < x86_64_reg::rip; r++) entry.regs[r] = SymbolicValue::entry(r);
    entry.regs[x86_64_reg::rsp] = SymbolicValue::address(0);
    entry.slots[0] = SymbolicValue::entry(x86_64_reg::rip);
    reach(f, row.begin, entry);
    drain(f);
    // What is left is entered through a switch table or by the runtime behind a catch: with the frame set up and
    // nothing known of the registers this function uses.
    const SymbolicState body = body_state(f);
    for (std::uint32_t at = row.begin; at < row.end;) {
      const unsigned size = decode(at, row.end);
      if (size == 0) break;
      const bool filler = insn_->id == X86_INS_INT3 || insn_->id == X86_INS_NOP;
      if (f.states.find(at) == f.states.end() && !filler && body.reached) {
        reach(f, at, body);
        drain(f);
      }
      at += size;
    }
    return f;
  }

  unsigned decode(std::uint32_t at, std::uint32_t end) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(image_.data()) + at;
    std::size_t size = end - at;
    std::uint64_t address = at;
    return cs_disasm_iter(handle_, &code, &size, &address, insn_) ? insn_->size : 0;
  }
  [[nodiscard]] std::string text(std::uint32_t at, std::uint32_t end) {
    return decode(at, end) != 0 ? std::string(insn_->mnemonic) + " " + insn_->op_str : "?";
  }
  [[nodiscard]] bool is_call() const { return insn_->id == X86_INS_CALL; }
  [[nodiscard]] bool is_filler() const { return insn_->id == X86_INS_INT3 || insn_->id == X86_INS_NOP; }

 private:
  void reach(MachineFunction& f, std::uint32_t at, const SymbolicState& state) {
    if (at < f.row.begin || at >= f.row.end) return;
    if (f.states[at].merge(state)) todo_.push_back(at);
  }

  /// The deepest frame at the end of the prologue, with only untouched registers kept.
  SymbolicState body_state(const MachineFunction& f) {
    SymbolicState best;
    std::int64_t lowest = 1;
    for (const auto& [at, s] : f.states) {
      const auto sp = s.address(x86_64_reg::rsp);
      if (sp && (lowest > 0 || *sp < lowest)) {
        lowest = *sp;
        best = s;
      }
    }
    for (unsigned r = 0; r < x86_64_reg::rip; r++) {
      if (best.regs[r].kind == SymbolicValue::Kind::entry && (f.written >> r & 1) != 0) best.regs[r] = {};
    }
    return best;
  }

  void drain(MachineFunction& f) {
    while (!todo_.empty()) {
      const std::uint32_t at = todo_.back();
      todo_.pop_back();
      const unsigned size = decode(at, f.row.end);
      if (size == 0) continue;
      SymbolicState state = f.states[at];
      const auto& x86 = insn_->detail->x86;
      if (insn_->id == X86_INS_RET || insn_->id == X86_INS_INT3 || insn_->id == X86_INS_UD2) continue;
      const bool jump = is_in(CS_GRP_JUMP);
      if (jump && x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM) {
        reach(f, static_cast<std::uint32_t>(x86.operands[0].imm), state);
      }
      if (insn_->id == X86_INS_JMP) continue;
      execute(f, state);
      reach(f, at + size, state);
    }
  }

  [[nodiscard]] bool is_in(unsigned group) const {
    for (unsigned i = 0; i < insn_->detail->groups_count; i++) {
      if (insn_->detail->groups[i] == group) return true;
    }
    return false;
  }

  std::optional<std::int64_t> place(const SymbolicState& s, const x86_op_mem& m) const {
    if (m.index != X86_REG_INVALID || m.segment != X86_REG_INVALID) return std::nullopt;
    const unsigned base = dwarf_of(m.base);
    if (base >= Registers::kMax) return std::nullopt;
    return s.address(base, m.disp);
  }

  void set(MachineFunction& f, SymbolicState& s, unsigned reg, SymbolicValue v) {
    if (reg >= Registers::kMax) return;
    s.regs[reg] = v;
    f.written |= std::uint64_t{1} << reg;
  }

  void execute(MachineFunction& f, SymbolicState& s) {
    using namespace x86_64_reg;
    const auto& x86 = insn_->detail->x86;
    const auto* op = x86.operands;
    const auto sp = s.address(rsp);
    switch (insn_->id) {
      case X86_INS_PUSH: {
        const auto value = op[0].type == X86_OP_REG ? s.regs[dwarf_of(op[0].reg)] : SymbolicValue{};
        if (sp) {
          s.store(*sp - 8, value);
          s.regs[rsp] = SymbolicValue::address(*sp - 8);
        }
        return;
      }
      case X86_INS_POP:
        set(f, s, dwarf_of(op[0].reg), sp ? s.load(*sp) : SymbolicValue{});
        if (sp) s.regs[rsp] = SymbolicValue::address(*sp + 8);
        return;
      case X86_INS_CALL:
        for (unsigned r : {rax, rcx, rdx, rsi, rdi, r8, r9, r10}) set(f, s, r, {});
        // The stack probe helper keeps r11, which holds the new sp.
        if (s.regs[r11].kind != SymbolicValue::Kind::sp_relative) set(f, s, r11, {});
        return;
      case X86_INS_ADD:
      case X86_INS_SUB:
        if (op[0].type == X86_OP_REG && op[1].type == X86_OP_IMM && is_full(op[0].reg)) {
          const auto a = s.address(dwarf_of(op[0].reg), insn_->id == X86_INS_ADD ? op[1].imm : -op[1].imm);
          set(f, s, dwarf_of(op[0].reg), a ? SymbolicValue::address(*a) : SymbolicValue{});
          return;
        }
        break;
      case X86_INS_OR:
        if (op[1].type == X86_OP_IMM && op[1].imm == 0) return;  // a memory barrier: `lock or [rsp], 0`
        break;
      case X86_INS_LEA:
        if (is_full(op[0].reg)) {
          const auto a = place(s, op[1].mem);
          set(f, s, dwarf_of(op[0].reg), a ? SymbolicValue::address(*a) : SymbolicValue{});
          return;
        }
        break;
      case X86_INS_MOV:
        if (op[0].type == X86_OP_REG && is_full(op[0].reg)) {
          SymbolicValue v;
          if (op[1].type == X86_OP_REG && is_full(op[1].reg)) v = s.regs[dwarf_of(op[1].reg)];
          if (op[1].type == X86_OP_MEM) {
            if (const auto a = place(s, op[1].mem)) v = s.load(*a);
          }
          set(f, s, dwarf_of(op[0].reg), v);
          return;
        }
        if (op[0].type == X86_OP_MEM && op[1].type == X86_OP_REG && is_full(op[1].reg)) {
          if (const auto a = place(s, op[0].mem)) s.store(*a, s.regs[dwarf_of(op[1].reg)]);
          return;
        }
        break;
      default:
        break;
    }
    forget_written(f, s);
  }

  /// Everything an instruction without a rule of its own writes becomes unknown.
  void forget_written(MachineFunction& f, SymbolicState& s) {
    cs_regs read;
    cs_regs write;
    std::uint8_t reads = 0;
    std::uint8_t writes = 0;
    if (cs_regs_access(handle_, insn_, read, &reads, write, &writes) != CS_ERR_OK) return;
    for (unsigned i = 0; i < writes; i++) set(f, s, dwarf_of(write[i]), {});
    const auto& x86 = insn_->detail->x86;
    for (unsigned i = 0; i < x86.op_count; i++) {
      const auto& op = x86.operands[i];
      if (op.type != X86_OP_MEM || (op.access & CS_AC_WRITE) == 0) continue;
      if (const auto a = place(s, op.mem)) s.clear(*a, op.size);
    }
  }

  std::span<const std::byte> image_;
  csh handle_ = 0;
  cs_insn* insn_ = nullptr;
  std::vector<std::uint32_t> todo_;
};

struct Totals {
  unsigned long functions = 0, prologue = 0, epilogue = 0, body = 0, after_call = 0, unreached = 0, failures = 0;
  unsigned long destroyers = 0;
};

/// Callee-saved registers that `f` writes without ever having saved them. Funclets do that since .NET 9: the helper
/// that calls them preserves the registers. No unwinder can bring such a register back.
std::uint64_t destroyed_registers(const MachineFunction& f) {
  std::uint64_t destroyed = f.written & arch::x86_64::kCalleeSaved & ~arch::x86_64::bit(x86_64_reg::rbp);
  for (const auto& [at, state] : f.states) {
    for (const auto& [slot, value] : state.slots) {
      if (value.kind == SymbolicValue::Kind::entry) destroyed &= ~(std::uint64_t{1} << value.value);
    }
  }
  return destroyed;
}

void check_function(Simulator& simulator, const MappedUnwindData& data, std::span<const std::byte> image,
                    const RuntimeFunction& row, Totals& totals) {
  const MachineFunction f = simulator.run(row);
  const std::uint64_t destroyed = destroyed_registers(f);
  totals.destroyers += destroyed != 0 ? 1 : 0;
  const unsigned prologue_size = std::to_integer<unsigned>(image[row.unwind_data + 1]);
  bool behind_call = false;
  for (std::uint32_t at = row.begin; at < row.end;) {
    const unsigned size = simulator.decode(at, row.end);
    if (size == 0) break;
    const bool call = simulator.is_call();
    const bool filler = simulator.is_filler();
    const auto found = f.states.find(at);
    if (found == f.states.end()) {
      totals.unreached += filler ? 0 : 1;
    } else {
      for (const bool is_return_address : {false, true}) {
        if (is_return_address && !behind_call) continue;
        const auto rule = amd64_rule(data, {row, at, is_return_address});
        const std::string wrong =
            rule ? test::check_rule(*rule, found->second, 8, arch::x86_64::kCalleeSaved & ~destroyed,
                                    SymbolicValue::entry(x86_64_reg::rip))
                 : "error " + std::to_string(static_cast<int>(rule.error().code));
        if (!wrong.empty() && totals.failures++ < 40) {
          ADD_FAILURE() << std::hex << "function " << row.begin << " at " << at << " +" << at - row.begin << ": "
                        << simulator.text(at, row.end) << ": " << wrong
                        << (is_return_address ? " (return address)" : "");
        }
        if (is_return_address) totals.after_call++;
      }
      RuleBuilder scratch(x86_64_reg::rsp);
      const unsigned frame = std::to_integer<unsigned>(image[row.unwind_data + 3]) & 15;
      if (at - row.begin < prologue_size) {
        totals.prologue++;
      } else if (amd64::match_epilogue(image.subspan(at), at, frame, scratch)) {
        totals.epilogue++;
      } else {
        totals.body++;
      }
    }
    behind_call = call;
    at += size;
  }
  totals.functions++;
}

TEST(Amd64CoreLib, RulesEqualExecutionAtEveryInstruction) {
  const auto path = test::framework_file("System.Private.CoreLib.dll");
  if (path.empty()) GTEST_SKIP() << "no .NET framework installed";
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe);
  const std::span<const std::byte> image(pe->image);
  if (base::load_at<std::uint32_t>(image, pe->exception_rva).value_or(0) == 0) GTEST_SKIP() << "no functions";
  const MappedUnwindData data(image);
  Simulator simulator(image);
  Totals totals;
  for (std::uint32_t i = 0; i + 12 <= pe->exception_size; i += 12) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    const RuntimeFunction row{cursor.u32(), cursor.u32(), cursor.u32()};
    ASSERT_TRUE(cursor.ok() && row.end <= image.size() && row.begin < row.end);
    check_function(simulator, data, image, row, totals);
  }
  std::printf(
      "functions %lu, instructions: prologue %lu, body %lu, epilogue %lu, unreached %lu; after calls %lu; funclets "
      "that "
      "destroy registers %lu\n",
      totals.functions, totals.prologue, totals.body, totals.epilogue, totals.unreached, totals.after_call,
      totals.destroyers);
  EXPECT_EQ(totals.failures, 0u);
  EXPECT_GT(totals.epilogue, totals.functions);
}

}  // namespace
}  // namespace mixstack::unwind::windows
