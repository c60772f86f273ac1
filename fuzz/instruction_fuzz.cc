// LINK: mixstack_engine_unwind capstone
// The decoders of prologue analysis against capstone: byte 0 chooses the CPU, the rest is code, one instruction after
// another. What both can decode must be of the same kind, with the same registers, places and targets.
#include <capstone/capstone.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "engine/unwind/prologue/decoder.h"
#include "mixstack/registers.h"

namespace {

using namespace mixstack;
using unwind::prologue::Effect;
using unwind::prologue::Instruction;
using unwind::prologue::kDecoders;
using unwind::prologue::kNoRegister;

/// One handle for each CPU, and room for one instruction.
class Oracle {
 public:
  Oracle(cs_arch arch, cs_mode mode) {
    if (cs_open(arch, mode, &handle_) != CS_ERR_OK) std::abort();
    (void)cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    insn_ = cs_malloc(handle_);
  }
  [[nodiscard]] const cs_insn* decode(std::span<const std::byte> code) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = std::min<std::size_t>(code.size(), 16);
    std::uint64_t address = 0;
    return cs_disasm_iter(handle_, &at, &size, &address, insn_) ? insn_ : nullptr;
  }

 private:
  csh handle_ = 0;
  cs_insn* insn_ = nullptr;
};

void require(bool is_same, const cs_insn& known, const Instruction& ours) {
  if (is_same) return;
  std::fprintf(stderr, "%s %s: effect %d, registers %u %u, base %u, offset %lld\n", known.mnemonic, known.op_str,
               static_cast<int>(ours.effect), ours.regs[0], ours.regs[1], ours.base,
               static_cast<long long>(ours.offset));
  std::abort();
}

namespace arm64 {

[[nodiscard]] std::uint8_t number(unsigned reg) {
  if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) return static_cast<std::uint8_t>(reg - ARM64_REG_X0);
  if (reg == ARM64_REG_X29) return aarch64_reg::fp;
  if (reg == ARM64_REG_X30) return aarch64_reg::lr;
  if (reg == ARM64_REG_SP) return aarch64_reg::sp;
  return kNoRegister;
}
[[nodiscard]] bool is_wide(const cs_arm64_op& op) {
  return op.type == ARM64_OP_REG && (number(op.reg) != kNoRegister || op.reg == ARM64_REG_XZR);
}

[[nodiscard]] Effect flow(const cs_insn& insn) {
  const arm64_cc condition = insn.detail->arm64.cc;
  switch (insn.id) {
    case ARM64_INS_BL:
    case ARM64_INS_BLR:
      return Effect::call;
    case ARM64_INS_RET:
      return Effect::end;
    case ARM64_INS_BR:
      return Effect::jump;
    case ARM64_INS_B:
      return condition == ARM64_CC_INVALID ? Effect::jump : Effect::branch;
    case ARM64_INS_CBZ:
    case ARM64_INS_CBNZ:
    case ARM64_INS_TBZ:
    case ARM64_INS_TBNZ:
      return Effect::branch;
    case ARM64_INS_BRK:
      return Effect::trap;
    default:
      return Effect::none;
  }
}

/// Loads and stores of whole registers at base + constant, one or two.
void check_access(const cs_insn& insn, const Instruction& ours, unsigned registers, Effect effect) {
  const cs_arm64& d = insn.detail->arm64;
  if (d.op_count < registers + 1u || !is_wide(d.operands[0]) || (registers == 2 && !is_wide(d.operands[1]))) return;
  const cs_arm64_op& place = d.operands[registers];
  if (place.type != ARM64_OP_MEM || place.mem.index != ARM64_REG_INVALID) return;
  const bool is_post = d.op_count > registers + 1u;  // the constant is an operand of its own
  const std::int64_t moved = is_post ? d.operands[registers + 1].imm : place.mem.disp;
  const std::uint8_t base = number(place.mem.base);
  if (d.writeback && base != aarch64_reg::sp) return require(ours.effect == Effect::none, insn, ours);
  require(ours.effect == effect && ours.base == base, insn, ours);
  for (unsigned i = 0; i < registers; i++) require(ours.regs[i] == number(d.operands[i].reg), insn, ours);
  if (!d.writeback)
    return require(ours.offset == place.mem.disp && ours.sp_before == 0 && ours.sp_after == 0, insn, ours);
  require(ours.offset == 0 && (is_post ? ours.sp_after : ours.sp_before) == moved, insn, ours);
}

void check(const cs_insn& insn, const Instruction& ours) {
  const Effect expected = flow(insn);
  const bool is_flow = ours.effect == Effect::call || ours.effect == Effect::jump || ours.effect == Effect::branch ||
                       ours.effect == Effect::end || ours.effect == Effect::trap;
  if (expected != Effect::none || is_flow) require(ours.effect == expected, insn, ours);
  const cs_arm64& d = insn.detail->arm64;
  if (ours.target) {
    const cs_arm64_op& last = d.operands[d.op_count - 1];
    require(last.type == ARM64_OP_IMM && last.imm == *ours.target, insn, ours);
  }
  switch (insn.id) {
    case ARM64_INS_STP:
      return check_access(insn, ours, 2, Effect::save);
    case ARM64_INS_LDP:
      return check_access(insn, ours, 2, Effect::restore);
    case ARM64_INS_STR:
    case ARM64_INS_STUR:
      return check_access(insn, ours, 1, Effect::save);
    case ARM64_INS_LDUR:
      return check_access(insn, ours, 1, Effect::restore);
    case ARM64_INS_ADD:
    case ARM64_INS_SUB: {
      const bool is_plain = d.op_count == 3 && d.operands[2].type == ARM64_OP_IMM && !d.update_flags &&
                            number(d.operands[0].reg) != kNoRegister && number(d.operands[1].reg) != kNoRegister;
      if (!is_plain) return;
      const std::int64_t n = d.operands[2].imm << d.operands[2].shift.value;
      return require(ours.effect == Effect::set_address && ours.regs[0] == number(d.operands[0].reg) &&
                         ours.base == number(d.operands[1].reg) && ours.offset == (insn.id == ARM64_INS_ADD ? n : -n),
                     insn, ours);
    }
    default:
      return;
  }
}

}  // namespace arm64

namespace x86 {

[[nodiscard]] std::uint8_t number(unsigned reg) {
  constexpr std::pair<unsigned, std::uint8_t> kNumbers[] = {
      {X86_REG_RAX, x86_64_reg::rax}, {X86_REG_RDX, x86_64_reg::rdx}, {X86_REG_RCX, x86_64_reg::rcx},
      {X86_REG_RBX, x86_64_reg::rbx}, {X86_REG_RSI, x86_64_reg::rsi}, {X86_REG_RDI, x86_64_reg::rdi},
      {X86_REG_RBP, x86_64_reg::rbp}, {X86_REG_RSP, x86_64_reg::rsp}, {X86_REG_R8, x86_64_reg::r8},
      {X86_REG_R9, x86_64_reg::r9},   {X86_REG_R10, x86_64_reg::r10}, {X86_REG_R11, x86_64_reg::r11},
      {X86_REG_R12, x86_64_reg::r12}, {X86_REG_R13, x86_64_reg::r13}, {X86_REG_R14, x86_64_reg::r14},
      {X86_REG_R15, x86_64_reg::r15}};
  for (const auto& [known, ours] : kNumbers)
    if (reg == known) return ours;
  return kNoRegister;
}

/// Forms that no compiler emits and that capstone and the manuals read differently: prefixes that change sizes.
[[nodiscard]] bool is_odd(const cs_insn& insn) {
  const cs_x86& d = insn.detail->x86;
  for (const std::uint8_t prefix : d.prefix)
    if (prefix != 0) return true;
  return d.opcode[0] == 0x0f && (d.opcode[1] == 0xff || d.opcode[1] == 0xb9);  // ud0, ud1
}

[[nodiscard]] Effect flow(const cs_insn& insn) {
  switch (insn.id) {
    case X86_INS_CALL:
      return Effect::call;
    case X86_INS_JMP:
      return Effect::jump;
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_RETFQ:
    case X86_INS_IRET:
    case X86_INS_IRETD:
    case X86_INS_IRETQ:
      return Effect::end;
    case X86_INS_INT3:
    case X86_INS_HLT:
    case X86_INS_UD2:
      return Effect::trap;
    case X86_INS_LEAVE:
      return Effect::leave;
    case X86_INS_LJMP:
    case X86_INS_XBEGIN:
      return Effect::none;
    default:
      break;
  }
  for (unsigned i = 0; i < insn.detail->groups_count; i++)
    if (insn.detail->groups[i] == X86_GRP_JUMP) return Effect::branch;
  const bool is_loop = insn.id == X86_INS_LOOP || insn.id == X86_INS_LOOPE || insn.id == X86_INS_LOOPNE;
  return is_loop ? Effect::branch : Effect::none;
}

void check_memory(const cs_insn& insn, const Instruction& ours, const cs_x86_op& place, unsigned reg, Effect effect) {
  const bool is_simple =
      place.type == X86_OP_MEM && place.mem.index == X86_REG_INVALID && number(place.mem.base) != kNoRegister;
  if (!is_simple || number(reg) == kNoRegister) return;
  require(ours.effect == effect || (number(reg) == x86_64_reg::rsp && ours.effect == Effect::lose_register), insn,
          ours);
  if (ours.effect != effect) return;
  require(ours.regs[0] == number(reg) && ours.base == number(place.mem.base) && ours.offset == place.mem.disp, insn,
          ours);
}

void check(const cs_insn& insn, const Instruction& ours) {
  if (is_odd(insn)) return;
  require(ours.length == insn.size, insn, ours);
  const Effect expected = flow(insn);
  const bool is_flow = ours.effect == Effect::call || ours.effect == Effect::jump || ours.effect == Effect::branch ||
                       ours.effect == Effect::end || ours.effect == Effect::trap || ours.effect == Effect::leave;
  if (expected != Effect::none || is_flow) require(ours.effect == expected, insn, ours);
  const cs_x86& d = insn.detail->x86;
  if (ours.target && insn.id == X86_INS_LEA) {  // the address that it makes; capstone has the distance from its end
    const cs_x86_op& place = d.operands[1];
    require(place.type == X86_OP_MEM && place.mem.base == X86_REG_RIP && place.mem.disp + insn.size == *ours.target,
            insn, ours);
  } else if (ours.target) {
    require(d.operands[0].type == X86_OP_IMM && d.operands[0].imm == *ours.target, insn, ours);
  }
  switch (insn.id) {
    case X86_INS_PUSH:
      // Of segment registers there is no prologue.
      if (d.opcode[0] != 0x0f) require(ours.effect == Effect::save && ours.sp_before == -8, insn, ours);
      return;
    case X86_INS_POP:
      if (d.opcode[0] == 0x0f || d.operands[0].type != X86_OP_REG || d.operands[0].reg == X86_REG_RSP) return;
      return require(ours.effect == Effect::restore && ours.sp_after == 8 && ours.regs[0] == number(d.operands[0].reg),
                     insn, ours);
    case X86_INS_MOV:
      if (d.opcode[0] == 0x89 && d.operands[0].size == 8)
        check_memory(insn, ours, d.operands[0], d.operands[1].reg, Effect::save);
      if (d.opcode[0] == 0x8b && d.operands[0].size == 8)
        check_memory(insn, ours, d.operands[1], d.operands[0].reg, Effect::restore);
      return;
    case X86_INS_LEA:
      if (d.operands[0].size == 8) check_memory(insn, ours, d.operands[1], d.operands[0].reg, Effect::set_address);
      return;
    case X86_INS_ADD:
    case X86_INS_SUB: {
      const bool moves_sp = d.operands[0].type == X86_OP_REG && d.operands[0].reg == X86_REG_RSP;
      if (!moves_sp || d.operands[1].type != X86_OP_IMM) return;
      const std::int64_t n = d.operands[1].imm;
      return require(ours.effect == Effect::set_address && ours.offset == (insn.id == X86_INS_ADD ? n : -n), insn,
                     ours);
    }
    default:
      return;
  }
}

}  // namespace x86
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Oracle of_arm64(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN), of_x86(CS_ARCH_X86, CS_MODE_64);
  if (size < 2) return 0;
  const bool is_arm64 = (data[0] & 1) != 0;
  auto code = std::as_bytes(std::span(data, size)).subspan(1);
  const auto decode = kDecoders[is_arm64 ? Arch::aarch64 : Arch::x86_64];
  while (!code.empty()) {
    const Instruction ours = decode(code);
    if (ours.length > code.size()) std::abort();
    const cs_insn* known = (is_arm64 ? of_arm64 : of_x86).decode(code);
    if (known != nullptr && ours.length != 0) (is_arm64 ? arm64::check : x86::check)(*known, ours);
    code = code.subspan(ours.length != 0 ? ours.length : 1);
  }
  return 0;
}
