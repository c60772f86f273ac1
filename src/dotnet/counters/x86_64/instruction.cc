// Input: bytes of code and their address. Output: one Instruction.
// Algorithm: prefixes, opcode, ModRM with its address, constant, as in the manual (Intel SDM, volume 2, appendix A).
// The forms that compilers emit in short functions have an action; vector instructions are decoded for their length,
// and forget the general register that they write. Everything else is `not_known`, so that a trace ends there. Bounds:
// an instruction has at most 15 bytes; each read is checked against the bytes that are there.
#include "dotnet/counters/x86_64/instruction.h"

#include "base/system/byte_cursor.h"

namespace mixstack::dotnet::counters::x86_64 {
namespace {

constexpr std::size_t kMostBytes = 15;
constexpr std::uint8_t kStack = 4;

Operand constant(std::uint64_t value) {
  Operand o;
  o.kind = Operand::Kind::constant;
  o.value = value;
  return o;
}

Operand reg(std::uint8_t number) {
  Operand o;
  o.kind = Operand::Kind::reg;
  o.reg = number;
  return o;
}

class Decoder {
 public:
  Decoder(std::span<const std::byte> code, Address at)
      : code_(code.first(std::min(code.size(), kMostBytes))), at_(at) {}

  Instruction decode() {
    if (read_prefixes()) read_opcode();
    if (is_bad_ || out_.action == Action::not_known) return {};
    out_.length = static_cast<std::uint8_t>(next_);
    for (Operand* o : {&out_.to, &out_.left, &out_.right})
      if (o->kind == Operand::Kind::memory && o->reg == kRelative) {
        o->reg = kNoRegister;
        o->value += at_ + next_;
      }
    return out_;
  }

 private:
  static constexpr std::uint8_t kRelative = 0xfe;  // base of an address that counts from the next instruction

  template <class T>
  T take() {
    const auto v = base::load_at<T>(code_, next_);
    is_bad_ |= !v;
    next_ += sizeof(T);
    return v.value_or(T{});
  }
  std::uint64_t take_signed(unsigned bytes) {
    if (bytes == 1) return static_cast<std::uint64_t>(std::int64_t{take<std::int8_t>()});
    if (bytes == 2) return static_cast<std::uint64_t>(std::int64_t{take<std::int16_t>()});
    return static_cast<std::uint64_t>(std::int64_t{take<std::int32_t>()});
  }
  [[nodiscard]] std::uint8_t operand_size() const { return is_wide_ ? 8 : is_short_ ? 2 : 4; }
  std::uint64_t take_constant() { return take_signed(std::min<unsigned>(out_.size, 4)); }

  bool read_prefixes() {
    while (!is_bad_) {
      const auto byte = base::load_at<std::uint8_t>(code_, next_).value_or(0);
      if (byte == 0x66)
        is_short_ = true;
      else if (byte == 0x64)
        is_thread_local_ = true;
      else if (byte == 0xf2 || byte == 0xf3)
        repeats_ = true;
      else if (byte != 0x2e && byte != 0x3e)  // segments that mean nothing
        break;
      next_++;
      is_bad_ |= next_ >= code_.size();
    }
    const auto rex = base::load_at<std::uint8_t>(code_, next_).value_or(0);
    if ((rex & 0xf0) == 0x40) {
      rex_ = rex;
      is_wide_ = (rex & 8) != 0;
      next_++;
    }
    out_.size = operand_size();
    return !is_bad_;
  }

  [[nodiscard]] std::uint8_t with_rex(unsigned number, unsigned bit) const {
    return static_cast<std::uint8_t>(number | ((rex_ >> bit & 1u) << 3));
  }

  void read_modrm() {
    const auto modrm = take<std::uint8_t>();
    const unsigned mod = modrm >> 6, low = modrm & 7u;
    digit_ = modrm >> 3 & 7u;
    reg_ = reg(with_rex(digit_, 2));
    if (mod == 3) {
      rm_ = reg(with_rex(low, 0));
      return;
    }
    rm_ = {};
    rm_.kind = Operand::Kind::memory;
    rm_.is_thread_local = is_thread_local_;
    rm_.reg = with_rex(low, 0);
    bool has_distance = mod == 0 && low == 5;
    if (has_distance) rm_.reg = kRelative;
    if (low == 4) {
      const auto sib = take<std::uint8_t>();
      const std::uint8_t index = with_rex(sib >> 3 & 7u, 1);
      if (index != kStack) rm_.index = index;
      rm_.scale = static_cast<std::uint8_t>(1u << (sib >> 6));
      rm_.reg = with_rex(sib & 7u, 0);
      has_distance = mod == 0 && (sib & 7u) == 5;
      if (has_distance) rm_.reg = kNoRegister;
    }
    if (mod == 1) rm_.value = take_signed(1);
    if (mod == 2 || has_distance) rm_.value = take_signed(4);
  }

  /// Registers of one byte that are the second byte of another are not known.
  void read_bytes_modrm() {
    out_.size = 1;
    read_modrm();
    const auto is_high = [this](const Operand& o) {
      return rex_ == 0 && o.kind == Operand::Kind::reg && o.reg >= 4 && o.reg < 8;
    };
    is_bad_ |= is_high(rm_) || is_high(reg_);
  }

  void set(Action action, const Operand& to, const Operand& left, const Operand& right = {}) {
    out_.action = action;
    out_.to = to;
    out_.left = left;
    out_.right = right;
  }

  /// The eight operations of the low opcodes and of group 1, in their order.
  void arithmetic(unsigned which, const Operand& to, const Operand& right) {
    static constexpr Action kActions[] = {Action::add,     Action::bit_or,   Action::not_known, Action::not_known,
                                          Action::bit_and, Action::subtract, Action::bit_xor,   Action::compare};
    set(kActions[which], kActions[which] == Action::compare ? Operand{} : to, to, right);
    out_.sets_flags = true;
  }

  void read_opcode() {
    const auto op = take<std::uint8_t>();
    if (op == 0x0f) return read_two_bytes();
    if (op < 0x40 && (op & 7u) < 6) return read_arithmetic(op);
    if (op >= 0x50 && op < 0x58) return set(Action::push, {}, reg(with_rex(op & 7u, 0)));
    if (op >= 0x58 && op < 0x60) return set(Action::pop, reg(with_rex(op & 7u, 0)), {});
    if (op >= 0x70 && op < 0x80) return jump_if(op & 15u, 1);
    if (op >= 0xb8 && op < 0xc0) {
      const std::uint64_t value = out_.size == 8 ? take<std::uint64_t>() : take_constant();
      return set(Action::move, reg(with_rex(op & 7u, 0)), constant(value));
    }
    read_other(op);
  }

  void read_arithmetic(unsigned op) {
    const unsigned which = op >> 3, form = op & 7u;
    if (form >= 4) {
      if (form == 4) out_.size = 1;
      return arithmetic(which, reg(0), constant(take_constant()));
    }
    (form & 1u) != 0 ? read_modrm() : read_bytes_modrm();
    form < 2 ? arithmetic(which, rm_, reg_) : arithmetic(which, reg_, rm_);
  }

  void jump_if(unsigned condition, unsigned bytes) {
    const std::uint64_t distance = take_signed(bytes);
    out_.condition = static_cast<Condition>(condition);
    set(Action::jump_if, {}, constant(at_ + next_ + distance));
  }
  void go(Action action, unsigned bytes) {
    const std::uint64_t distance = take_signed(bytes);
    set(action, {}, constant(at_ + next_ + distance));
  }

  void read_other(unsigned op) {
    switch (op) {
      case 0x63:
        read_modrm();
        out_.from_size = 4;
        out_.is_signed = true;
        return set(Action::move, reg_, rm_);
      case 0x69:
      case 0x6b:
        read_modrm();
        return set(Action::multiply, reg_, rm_,
                   constant(take_signed(op == 0x6b ? 1 : std::min<unsigned>(out_.size, 4))));
      case 0x80:
      case 0x81:
      case 0x83:
        op == 0x80 ? read_bytes_modrm() : read_modrm();
        return arithmetic(digit_, rm_, constant(op == 0x83 ? take_signed(1) : take_constant()));
      case 0x84:
      case 0x85:
        op == 0x84 ? read_bytes_modrm() : read_modrm();
        out_.sets_flags = true;
        return set(Action::test, {}, rm_, reg_);
      case 0x88:
      case 0x89:
        op == 0x88 ? read_bytes_modrm() : read_modrm();
        return set(Action::move, rm_, reg_);
      case 0x8a:
      case 0x8b:
        op == 0x8a ? read_bytes_modrm() : read_modrm();
        return set(Action::move, reg_, rm_);
      case 0x8d:
        read_modrm();
        if (rm_.kind != Operand::Kind::memory) return;
        rm_.is_thread_local = false;
        return set(Action::address, reg_, rm_);
      case 0x90:
        return set(Action::nothing, {}, {});
      case 0xc1:
      case 0xd1: {
        read_modrm();
        const Operand by = constant(op == 0xd1 ? 1 : take<std::uint8_t>());
        if (digit_ == 4) return set(Action::shift_left, rm_, rm_, by);
        if (digit_ == 5 || digit_ == 7) return set(Action::forget, rm_, {});  // to the right
        return;
      }
      case 0xc3:
        return set(Action::give_back, {}, {});
      case 0xc6:
      case 0xc7:
        op == 0xc6 ? read_bytes_modrm() : read_modrm();
        if (digit_ != 0) return;
        return set(Action::move, rm_, constant(take_constant()));
      case 0xc9:
        return set(Action::leave, {}, {});
      case 0xe8:
        return go(Action::call, 4);
      case 0xe9:
      case 0xeb:
        return go(Action::jump, op == 0xeb ? 1 : 4);
      case 0xf6:
      case 0xf7:
        op == 0xf6 ? read_bytes_modrm() : read_modrm();
        if (digit_ > 1) return;
        out_.sets_flags = true;
        return set(Action::test, {}, rm_, constant(take_constant()));
      case 0xff:
        return read_group_5();
      default:
        return;
    }
  }

  void read_group_5() {
    read_modrm();
    if (digit_ != 2 && digit_ != 4 && digit_ != 6) return;
    out_.size = 8;
    set(digit_ == 2 ? Action::call : digit_ == 4 ? Action::jump : Action::push, {}, rm_);
  }

  void read_two_bytes() {
    const auto op = take<std::uint8_t>();
    if (op >= 0x80 && op < 0x90) return jump_if(op & 15u, 4);
    if (op >= 0x40 && op < 0x50) {
      read_modrm();
      out_.condition = static_cast<Condition>(op & 15u);
      return set(Action::choose, reg_, rm_, reg_);
    }
    if (op >= 0x90 && op < 0xa0) {
      read_bytes_modrm();
      out_.condition = static_cast<Condition>(op & 15u);
      return set(Action::choose, rm_, constant(1), constant(0));
    }
    switch (op) {
      case 0x1e:  // endbr64
      case 0x1f:
        read_modrm();
        return set(Action::nothing, {}, {});
      case 0xaf:
        read_modrm();
        return set(Action::multiply, reg_, reg_, rm_);
      case 0xb6:
      case 0xb7:
      case 0xbe:
      case 0xbf: {
        const std::uint8_t to = out_.size;
        (op & 1u) != 0 ? read_modrm() : read_small_source();
        out_.size = to;
        out_.from_size = (op & 1u) != 0 ? 2 : 1;
        out_.is_signed = op >= 0xbe;
        return set(Action::move, reg_, rm_);
      }
      default:
        return read_vector(op);
    }
  }
  void read_small_source() {
    read_modrm();
    is_bad_ |= rex_ == 0 && rm_.kind == Operand::Kind::reg && rm_.reg >= 4 && rm_.reg < 8;
  }

  /// Moves and arithmetic of SSE and SSE2: a store makes its bytes not known, some write a general register.
  void read_vector(unsigned op) {
    const bool is_move =
        (op >= 0x10 && op < 0x18) || op == 0x28 || op == 0x29 || op == 0x2a || op == 0x2c || op == 0x2d;
    const bool is_arithmetic = (op >= 0x51 && op < 0x70) || op == 0x6e || op == 0x6f || op == 0xd4 || op == 0xd6 ||
                               op == 0xef || op == 0xfb || op == 0xfe || op == 0x7e || op == 0x7f || op == 0x5c;
    if (!is_move && !is_arithmetic) return;
    read_modrm();
    const bool is_memory = rm_.kind == Operand::Kind::memory;
    const bool is_store =
        op == 0x11 || op == 0x13 || op == 0x17 || op == 0x29 || op == 0x7f || op == 0xd6 || (op == 0x7e && !repeats_);
    if (op == 0x2c || op == 0x2d) return set(Action::forget, reg_, {});
    if (!is_store || (!is_memory && op != 0x7e)) return set(Action::nothing, {}, {});
    out_.size = 16;
    set(Action::forget, rm_, {});
  }

  std::span<const std::byte> code_;
  Address at_;
  std::size_t next_ = 0;
  Instruction out_;
  Operand reg_, rm_;
  unsigned digit_ = 0;
  std::uint8_t rex_ = 0;
  bool is_wide_ = false, is_short_ = false, is_thread_local_ = false, repeats_ = false, is_bad_ = false;
};

}  // namespace

Instruction decode(std::span<const std::byte> code, Address at) { return Decoder(code, at).decode(); }

}  // namespace mixstack::dotnet::counters::x86_64
