// Input: machine code of x86-64. Output: the length of its first instruction and its effect on the stack frame
// (instruction.h).
// Algorithm: (1) `layout` finds length, opcode, prefixes and ModRM; (2) instructions of one-byte opcodes are tried as
// pushes and pops, then as calls, jumps and returns, then as moves and arithmetic on sp and fp; opcodes behind 0F only
// as branches, traps, padding and pushes of segments; (3) all other writes to rsp (`writes_rsp`, 16-bit pushes) lose
// it, since a wrong sp would make a wrong frame. Bounds: reads only the bytes that `layout` has found inside the span;
// no loops, no allocation; signal-safe. Vector opcodes (VEX, EVEX) have no effect on the frame.
#include "engine/unwind/prologue/x86_64/instruction.h"

#include "base/system/byte_cursor.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::prologue::x86_64 {
namespace {

using namespace x86_64_reg;

std::uint8_t dwarf(unsigned machine_number) {
  static constexpr std::uint8_t kMap[16] = {rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi,
                                            r8,  r9,  r10, r11, r12, r13, r14, r15};
  return kMap[machine_number & 15];
}

struct Memory {
  bool simple = false;  ///< base register and displacement only
  std::uint8_t base = kNoRegister;
  std::int64_t offset = 0;
};

class Decoder {
 public:
  Decoder(std::span<const std::byte> code, const Layout& where) : code_(code), where_(where) {
    result_.length = where.length;
    opcode_ = std::to_integer<unsigned>(code[where.opcode_at]);
    if (where.has_modrm) modrm_ = std::to_integer<unsigned>(code[where.opcode_at + 1]);
  }

  [[nodiscard]] Instruction decode() {
    if (where_.map == 1) {
      escaped();
    } else if (where_.map == 0) {
      result_.is_padding = opcode_ == 0x90 && where_.rex == 0;
      if (!one_register() && !flow()) general();
    }
    if (result_.effect == Effect::none && writes_rsp(code_, where_)) lose(rsp);
    // Two bytes are pushed or popped then.
    if (where_.operand16 && (result_.sp_before != 0 || result_.sp_after != 0)) lose(rsp);
    return result_;
  }

 private:
  [[nodiscard]] bool wide() const { return (where_.rex & 8) != 0; }
  [[nodiscard]] unsigned reg_field() const { return (modrm_ >> 3 & 7) | ((where_.rex & 4) != 0 ? 8u : 0u); }
  [[nodiscard]] unsigned rm_field() const { return (modrm_ & 7) | ((where_.rex & 1) != 0 ? 8u : 0u); }
  [[nodiscard]] bool is_register_form() const { return modrm_ >> 6 == 3; }
  template <class T>
  [[nodiscard]] std::int64_t last() const {  // the immediate or displacement at the end
    return base::load_at<T>(code_, where_.length - sizeof(T)).value_or(0);
  }

  void push(std::uint8_t reg) {
    result_.effect = Effect::save;
    result_.regs[0] = reg;
    result_.base = rsp;
    result_.sp_before = -8;
  }
  void pop(std::uint8_t reg) {
    result_.effect = Effect::restore;
    result_.regs[0] = reg;
    result_.base = rsp;
    result_.sp_after = 8;
  }
  void lose(std::uint8_t reg) {
    result_.effect = Effect::lose_register;
    result_.regs[0] = reg;
  }
  void address(std::uint8_t reg, std::uint8_t base, std::int64_t offset) {
    result_.effect = Effect::set_address;
    result_.regs[0] = reg;
    result_.base = base;
    result_.offset = offset;
  }

  [[nodiscard]] bool one_register() {
    const unsigned reg = (opcode_ & 7) | ((where_.rex & 1) != 0 ? 8u : 0u);
    if (opcode_ >= 0x50 && opcode_ <= 0x57) {
      push(dwarf(reg));
    } else if (opcode_ >= 0x58 && opcode_ <= 0x5f) {
      pop(dwarf(reg));
      if (reg == 4) lose(rsp);
    } else if (opcode_ == 0x68 || opcode_ == 0x6a || opcode_ == 0x9c) {
      push(kNoRegister);
    } else if (opcode_ == 0x9d) {
      pop(kNoRegister);
    } else if (opcode_ == 0xc9) {
      result_.effect = Effect::leave;
    } else if (opcode_ == 0xc8) {
      lose(rsp);  // enter
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] bool flow() {
    const auto jump = [&](Effect effect, std::int64_t displacement) {
      result_.effect = effect;
      result_.target = where_.length + displacement;
      return true;
    };
    if (opcode_ >= 0x70 && opcode_ <= 0x7f) return jump(Effect::branch, last<std::int8_t>());
    if (opcode_ >= 0xe0 && opcode_ <= 0xe3) return jump(Effect::branch, last<std::int8_t>());
    if (opcode_ == 0xeb) return jump(Effect::jump, last<std::int8_t>());
    if (opcode_ == 0xe9) return jump(Effect::jump, last<std::int32_t>());
    if (opcode_ == 0xe8) return jump(Effect::call, last<std::int32_t>());
    switch (opcode_) {
      case 0xc2:
      case 0xc3:
      case 0xca:
      case 0xcb:
      case 0xcf:
        result_.effect = Effect::end;
        return true;
      case 0xcc:
        result_.is_padding = true;
        [[fallthrough]];
      case 0xf4:
        result_.effect = Effect::trap;
        return true;
      default:
        break;
    }
    if (opcode_ != 0xff) return false;
    const unsigned group = modrm_ >> 3 & 7;
    if (group == 2) result_.effect = Effect::call;
    if (group == 4) {
      result_.effect = Effect::jump;
      result_.is_tail_call = wide();
    }
    if (group == 6) push(kNoRegister);
    return group == 2 || group == 4 || group == 6;
  }

  void escaped() {
    if (opcode_ >= 0x80 && opcode_ <= 0x8f) {
      result_.effect = Effect::branch;
      result_.target = where_.length + last<std::int32_t>();
    } else if (opcode_ == 0x0b) {
      result_.effect = Effect::trap;  // ud2
    } else if (opcode_ == 0x1f) {
      result_.is_padding = true;
    } else if (opcode_ == 0xa0 || opcode_ == 0xa8) {
      push(kNoRegister);  // fs, gs
    } else if (opcode_ == 0xa1 || opcode_ == 0xa9) {
      pop(kNoRegister);
    }
  }

  [[nodiscard]] Memory memory() const {
    Memory m;
    const unsigned mod = modrm_ >> 6;
    // LEA with a register operand is invalid, and no SIB byte follows its ModRM.
    if (mod == 3 || !where_.plain_address) return m;
    std::size_t at = where_.opcode_at + 2;
    unsigned base = rm_field();
    if ((modrm_ & 7) == 4) {
      const auto sib = std::to_integer<unsigned>(code_[at++]);
      const unsigned index = (sib >> 3 & 7) | ((where_.rex & 2) != 0 ? 8u : 0u);
      if (index != 4) return m;
      base = (sib & 7) | ((where_.rex & 1) != 0 ? 8u : 0u);
    }
    if (mod == 0 && (base & 7) == 5) return m;
    if (mod == 1) m.offset = base::load_at<std::int8_t>(code_, at).value_or(0);
    if (mod == 2) m.offset = base::load_at<std::int32_t>(code_, at).value_or(0);
    m.base = dwarf(base);
    m.simple = true;
    return m;
  }

  void general() {
    switch (opcode_) {
      case 0x89:
        store_or_move();
        return;
      case 0x8b:
        load_or_move();
        return;
      case 0x8d:
        load_address();
        return;
      case 0x81:
      case 0x83:
        arithmetic_with_constant();
        return;
      case 0x8f:
        pop(is_register_form() && rm_field() != 4 ? dwarf(rm_field()) : kNoRegister);
        if (is_register_form() && rm_field() == 4) lose(rsp);
        return;
      default:
        break;
    }
  }

  void move(unsigned destination, unsigned source) {
    if (wide() && (destination == 4 || source == 4)) {
      address(dwarf(destination), dwarf(source), 0);
    } else if (destination == 4) {
      lose(rsp);
    }
  }
  void store_or_move() {
    if (is_register_form()) return move(rm_field(), reg_field());
    const Memory m = memory();
    if (!wide() || !m.simple) return;
    result_.effect = Effect::save;
    result_.regs[0] = dwarf(reg_field());
    result_.base = m.base;
    result_.offset = m.offset;
  }
  void load_or_move() {
    if (is_register_form()) return move(reg_field(), rm_field());
    const Memory m = memory();
    if (wide() && m.simple) {
      result_.effect = Effect::restore;
      result_.regs[0] = dwarf(reg_field());
      result_.base = m.base;
      result_.offset = m.offset;
    }
    if (reg_field() == 4) lose(rsp);
  }
  void load_address() {
    if ((modrm_ & 0xc7) == 5 && where_.plain_address) result_.target = where_.length + last<std::int32_t>();
    const Memory m = memory();
    if (wide() && m.simple) {
      address(dwarf(reg_field()), m.base, m.offset);
    } else if (reg_field() == 4) {
      lose(rsp);
    }
  }
  void arithmetic_with_constant() {
    if (!is_register_form() || rm_field() != 4) return;
    const std::int64_t n = opcode_ == 0x83 ? last<std::int8_t>() : last<std::int32_t>();
    const unsigned operation = modrm_ >> 3 & 7;
    if (operation == 7) return;  // cmp
    if (wide() && (operation == 0 || operation == 5)) {
      address(rsp, rsp, operation == 0 ? n : -n);
    } else {
      lose(rsp);
    }
  }

  std::span<const std::byte> code_;
  const Layout& where_;
  unsigned opcode_ = 0;
  unsigned modrm_ = 0;
  Instruction result_;
};

}  // namespace

Instruction decode(std::span<const std::byte> code) {
  const Layout where = layout(code);
  if (where.length == 0) return {};
  return Decoder(code, where).decode();
}

}  // namespace mixstack::unwind::prologue::x86_64
