// Input: the bytes of a DWARF expression from call frame information, and the frame's registers, stack and CFA. Output:
// the value on top of the stack machine at the end, or the plain rule that equals it.
// Algorithm: `match_expression` first compares with the shapes that compilers and linkers emit (register + offset, its
// dereference, the PLT's), since plain rules are faster and can be compiled. All others are executed: operations by
// groups (literals, registers, constants, stack, unary, binary, other); the first error ends the run.
// Bounds: `kExpressionStackLimit` stack entries; `steps` operations in all expressions of one frame, which ends loops;
// operands are read by a checked cursor; no allocation.
#include "engine/unwind/expression.h"

#include <array>
#include <utility>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "engine/unwind/cfi_pointer.h"
#include "engine/unwind/expression_op.h"

namespace mixstack::unwind {
namespace {

using namespace dw_op;  // NOLINT: names of one table

/// The stack machine. Every method that can fail records the first error and returns zero.
class Machine {
 public:
  Machine(std::span<const std::byte> code, const ExpressionContext& context)
      : code_(code),
        context_(context),
        address_size_(arch_registers(context.registers->arch()).pointer_size),
        mask_(address_size_ == 4 ? 0xffffffffu : ~std::uint64_t{0}) {
    if (context.initial) push(*context.initial);
  }

  Result<std::uint64_t> run(unsigned& steps) {
    while (!code_.at_end() && error_.code == ErrorCode::none && !stopped_) {
      if (steps == 0) return fail(ErrorCode::limit_exceeded);
      --steps;
      step(code_.u8());
      if (!code_.ok()) set_error(ErrorCode::truncated, code_.position());
    }
    if (error_.code != ErrorCode::none) return fail(error_);
    if (depth_ == 0) return fail(ErrorCode::malformed);
    return stack_[depth_ - 1];
  }

 private:
  void set_error(ErrorCode code, std::uint64_t value = 0) {
    if (error_.code == ErrorCode::none) error_ = {code, 0, value};
  }
  void push(std::uint64_t value) {
    if (depth_ == stack_.size()) return set_error(ErrorCode::limit_exceeded);
    stack_[depth_++] = value & mask_;
  }
  void push_signed(std::int64_t value) { push(static_cast<std::uint64_t>(value)); }
  std::uint64_t pop() {
    if (depth_ == 0) return set_error(ErrorCode::malformed), 0;
    return stack_[--depth_];
  }
  [[nodiscard]] std::int64_t to_signed(std::uint64_t v) const {
    return address_size_ == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(v)) : static_cast<std::int64_t>(v);
  }
  void pick(std::uint64_t index) {
    if (index >= depth_) return set_error(ErrorCode::malformed);
    push(stack_[depth_ - 1 - static_cast<std::size_t>(index)]);
  }
  void push_register(std::uint64_t reg, std::int64_t offset) {
    const auto value = reg < Registers::kMax ? context_.registers->get(static_cast<unsigned>(reg)) : std::nullopt;
    if (!value) return set_error(ErrorCode::register_unknown, reg);
    push(*value + static_cast<std::uint64_t>(offset));
  }
  [[nodiscard]] std::uint64_t read_register() {
    return arch::cpu(context_.registers->arch()).register_of(code_.uleb());
  }
  void deref(unsigned size) {
    if (size == 0 || size > address_size_) return set_error(ErrorCode::malformed, size);
    const std::uint64_t address = pop();
    if (error_.code != ErrorCode::none) return;
    std::uint64_t value = 0;
    if (!context_.stack->bytes(address, std::as_writable_bytes(std::span<std::uint64_t, 1>(&value, 1)).first(size)))
      return set_error(ErrorCode::unreadable_memory, address);
    push(value);
  }
  void jump(std::int16_t distance) {
    const std::int64_t to = static_cast<std::int64_t>(code_.position()) + distance;
    if (to < 0) return set_error(ErrorCode::malformed);
    code_.seek(static_cast<std::size_t>(to));
  }
  /// Other base types than the generic one are entries of .debug_info, which CFI cannot refer to.
  void require_generic(std::uint64_t type) {
    if (type != 0) set_error(ErrorCode::unsupported, type);
  }

  void step(std::uint8_t op);
  void step_constant(std::uint8_t op);
  void step_stack(std::uint8_t op);
  void step_unary(std::uint8_t op);
  void step_binary(std::uint8_t op);
  void step_other(std::uint8_t op);
  [[nodiscard]] std::uint64_t combine(std::uint8_t op, std::uint64_t left, std::uint64_t right);
  [[nodiscard]] std::uint64_t divide(std::uint64_t left, std::uint64_t right);

  base::ByteCursor code_;
  const ExpressionContext& context_;
  unsigned address_size_;
  std::uint64_t mask_;
  std::array<std::uint64_t, kExpressionStackLimit> stack_{};
  std::size_t depth_ = 0;
  Error error_;
  bool stopped_ = false;
};

void Machine::step(std::uint8_t op) {
  if (op >= kLit0 && op <= kLit31) return push(op - kLit0);
  if (op >= kBreg0 && op <= kBreg31) return push_register(op - kBreg0, code_.sleb());
  // A register location has no address; in CFI all readers take the register's value.
  if (op >= kReg0 && op <= kReg31) return push_register(op - kReg0, 0);
  if (op >= kConst1u && op <= kConsts) return step_constant(op);
  if (op >= kDup && op <= kRot) return step_stack(op);
  switch (op) {
    case kAbs:
    case kNeg:
    case kNot:
    case kPlusUconst:
      return step_unary(op);
    case kBra: {
      const auto distance = code_.read<std::int16_t>();
      if (pop() != 0) jump(distance);
      return;
    }
    case kSkip:
      return jump(code_.read<std::int16_t>());
    default:
      break;
  }
  if (op >= kAnd && op <= kNe) return step_binary(op);
  step_other(op);
}

void Machine::step_constant(std::uint8_t op) {
  switch (op) {
    case kConst1u:
      return push(code_.u8());
    case kConst1s:
      return push_signed(code_.read<std::int8_t>());
    case kConst2u:
      return push(code_.u16());
    case kConst2s:
      return push_signed(code_.read<std::int16_t>());
    case kConst4u:
      return push(code_.u32());
    case kConst4s:
      return push_signed(code_.read<std::int32_t>());
    case kConst8u:
    case kConst8s:
      return push(code_.u64());
    case kConstu:
      return push(code_.uleb());
    default:
      return push_signed(code_.sleb());
  }
}

void Machine::step_stack(std::uint8_t op) {
  switch (op) {
    case kDup:
      return pick(0);
    case kDrop:
      (void)pop();
      return;
    case kOver:
      return pick(1);
    case kPick:
      return pick(code_.u8());
    case kSwap: {
      const auto a = pop(), b = pop();
      push(a), push(b);
      return;
    }
    default: {  // rot: the top goes below the two under it
      const auto a = pop(), b = pop(), c = pop();
      push(a), push(c), push(b);
      return;
    }
  }
}

void Machine::step_unary(std::uint8_t op) {
  const std::uint64_t value = pop();
  switch (op) {
    case kAbs:
      return push(to_signed(value) < 0 ? std::uint64_t{0} - value : value);
    case kNeg:
      return push(std::uint64_t{0} - value);
    case kNot:
      return push(~value);
    default:
      return push(value + code_.uleb());
  }
}

std::uint64_t Machine::divide(std::uint64_t left, std::uint64_t right) {
  const std::int64_t a = to_signed(left), b = to_signed(right);
  if (b == 0) return set_error(ErrorCode::malformed), 0;
  if (b == -1) return std::uint64_t{0} - left;  // the smallest value has no positive counterpart
  return static_cast<std::uint64_t>(a / b);
}

std::uint64_t Machine::combine(std::uint8_t op, std::uint64_t left, std::uint64_t right) {
  const unsigned bits = address_size_ * 8;
  switch (op) {
    case kAnd:
      return left & right;
    case kOr:
      return left | right;
    case kXor:
      return left ^ right;
    case kPlus:
      return left + right;
    case kMinus:
      return left - right;
    case kMul:
      return left * right;
    case kDiv:
      return divide(left, right);
    case kMod:
      if (right == 0) return set_error(ErrorCode::malformed), 0;
      return left % right;
    case kShl:
      return right < bits ? left << right : 0;
    case kShr:
      return right < bits ? left >> right : 0;
    case kShra:  // `bits` is 32 or 64
      // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
      return static_cast<std::uint64_t>(to_signed(left) >> (right < bits ? right : bits - 1));
    case kEq:
      return to_signed(left) == to_signed(right);
    case kGe:
      return to_signed(left) >= to_signed(right);
    case kGt:
      return to_signed(left) > to_signed(right);
    case kLe:
      return to_signed(left) <= to_signed(right);
    case kLt:
      return to_signed(left) < to_signed(right);
    case kNe:
      return to_signed(left) != to_signed(right);
    default:
      return set_error(ErrorCode::unsupported, op), 0;
  }
}

void Machine::step_binary(std::uint8_t op) {
  const std::uint64_t right = pop(), left = pop();
  push(combine(op, left, right));
}

void Machine::step_other(std::uint8_t op) {
  switch (op) {
    case kNop:
      return;
    case kAddr:
      return push(read_address(code_, address_size_) + context_.load_bias);
    case kDeref:
      return deref(address_size_);
    case kDerefSize:
      return deref(code_.u8());
    case kRegx:
      return push_register(read_register(), 0);
    case kBregx: {
      const auto reg = read_register();
      return push_register(reg, code_.sleb());
    }
    case kCallFrameCfa:
      if (!context_.cfa) return set_error(ErrorCode::unsupported, op);
      return push(*context_.cfa);
    case kStackValue:
      stopped_ = true;
      return;  // the value is computed, as CFI takes it anyway
    case kDerefType: {
      const auto size = code_.u8();
      require_generic(code_.uleb());
      return deref(size);
    }
    case kRegvalType: {
      const auto reg = read_register();
      require_generic(code_.uleb());
      return push_register(reg, 0);
    }
    case kConvert:
    case kReinterpret:
    case kGnuConvert:
    case kGnuReinterpret:
      return require_generic(code_.uleb());
    case kGnuEncodedAddr: {  // as in the GCC unwinder; relative forms have no base here
      const auto encoding = code_.u8();
      PointerBases bases;
      bases.address_size = address_size_;
      const auto value = encoding <= eh_pe::kFormatMask ? read_pointer(code_, encoding, bases) : std::nullopt;
      if (!value) return set_error(ErrorCode::unsupported, op);
      return push(*value + context_.load_bias);
    }
    default:
      return set_error(ErrorCode::unsupported, op);
  }
}

/// breg0..breg31 or bregx with a register number that fits.
bool read_base_register(Arch arch, base::ByteCursor& cursor, ExpressionPattern& out) {
  const std::uint8_t op = cursor.u8();
  std::uint64_t reg = 0;
  if (op >= kBreg0 && op <= kBreg31) {
    reg = op - kBreg0;
  } else if (op == kBregx) {
    reg = arch::cpu(arch).register_of(cursor.uleb());
  } else {
    return false;
  }
  out.offset = cursor.sleb();
  out.reg = static_cast<std::uint8_t>(reg);
  return cursor.ok() && reg < Registers::kMax;
}

}  // namespace

Result<std::uint64_t> evaluate_expression(std::span<const std::byte> expression, const ExpressionContext& context,
                                          unsigned& steps) {
  return Machine(expression, context).run(steps);
}

ExpressionPattern match_expression(Arch arch, std::span<const std::byte> expression) {
  base::ByteCursor cursor(expression);
  ExpressionPattern pattern;
  if (!read_base_register(arch, cursor, pattern)) return {};
  if (cursor.at_end()) {
    pattern.kind = ExpressionPattern::Kind::register_offset;
    return pattern;
  }
  if (cursor.remaining() == 1) {
    if (cursor.u8() != kDeref) return {};
    pattern.kind = ExpressionPattern::Kind::deref_register_offset;
    return pattern;
  }
  // The PLT expression of GNU ld and lld: breg(sp) n; breg(pc) 0; lit15; and; litK; ge; lit3; shl; plus.
  const arch::Cpu& cpu = arch::cpu(arch);
  if (!cpu.is_walked || cpu.has_link_register()) return {};
  const std::array<std::uint8_t, 4> head{static_cast<std::uint8_t>(kBreg0 + cpu.registers.pc), 0, kLit0 + 15, kAnd};
  const std::array<std::uint8_t, 4> tail{kGe, kLit0 + 3, kShl, kPlus};
  if (pattern.reg != cpu.registers.sp || cursor.remaining() != head.size() + 1 + tail.size()) return {};
  for (const auto expected : head)
    if (cursor.u8() != expected) return {};
  const std::uint8_t step = cursor.u8();
  if (step < kLit0 || step > kLit31) return {};
  for (const auto expected : tail)
    if (cursor.u8() != expected) return {};
  pattern.plt_step = static_cast<std::uint8_t>(step - kLit0);
  pattern.kind = ExpressionPattern::Kind::plt;
  return pattern;
}

}  // namespace mixstack::unwind
