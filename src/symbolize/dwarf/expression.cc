#include "symbolize/dwarf/expression.h"

#include <dwarf.h>

#include <vector>

namespace mixstack::symbolize {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// The stack machine of DWARF 5, section 2.5, without branches: locations of variables have none.
class Machine {
 public:
  Machine(const DwarfFrame& frame, const std::optional<std::uint64_t>& frame_base)
      : frame_(frame), frame_base_(frame_base) {}

  /// False when the value cannot be had.
  bool execute(const Dwarf_Op& op);
  [[nodiscard]] std::optional<ValuePlace> result() const {
    if (place_) return place_;
    if (stack_.empty()) return std::nullopt;
    return ValuePlace{is_value_ ? ValuePlace::Kind::computed : ValuePlace::Kind::memory, stack_.back()};
  }

 private:
  bool push(std::uint64_t value) {
    if (stack_.size() >= kMaxDepth) return false;
    stack_.push_back(value);
    return true;
  }
  bool push_register(std::uint64_t reg, std::uint64_t offset) {
    const auto value = frame_.registers->get(static_cast<unsigned>(reg));
    return value && push(*value + offset);
  }
  bool in_register(std::uint64_t reg) {
    place_ = ValuePlace{ValuePlace::Kind::in_register, reg};
    return true;
  }
  bool dereference(std::size_t size);
  bool combine(std::uint8_t atom);
  bool push_constant(const Dwarf_Op& op);

  const DwarfFrame& frame_;
  const std::optional<std::uint64_t>& frame_base_;
  std::vector<std::uint64_t> stack_;
  std::optional<ValuePlace> place_;
  bool is_value_ = false;
};

bool Machine::dereference(std::size_t size) {
  if (stack_.empty() || size == 0 || size > sizeof(std::uint64_t)) return false;
  std::uint64_t value = 0;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1)).first(size);
  if (!frame_.memory->read_exact(stack_.back(), bytes)) return false;
  stack_.back() = value;
  return true;
}

bool Machine::combine(std::uint8_t atom) {
  if (stack_.size() < 2) return false;
  const std::uint64_t right = stack_.back();
  stack_.pop_back();
  std::uint64_t& left = stack_.back();
  switch (atom) {
    case DW_OP_plus:
      left += right;
      return true;
    case DW_OP_minus:
      left -= right;
      return true;
    case DW_OP_mul:
      left *= right;
      return true;
    case DW_OP_and:
      left &= right;
      return true;
    case DW_OP_or:
      left |= right;
      return true;
    case DW_OP_shl:
      left = right < 64 ? left << right : 0;
      return true;
    case DW_OP_shr:
      left = right < 64 ? left >> right : 0;
      return true;
    default:
      return false;
  }
}

bool Machine::push_constant(const Dwarf_Op& op) {
  switch (op.atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
      return push(op.number);  // libdw has widened signed ones
    default:
      return false;
  }
}

bool Machine::execute(const Dwarf_Op& op) {
  // Nothing follows a register name or a value but pieces, which we do not put together.
  if (place_ || is_value_) return false;
  if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push(op.atom - DW_OP_lit0);
  if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) return in_register(op.atom - DW_OP_reg0);
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) return push_register(op.atom - DW_OP_breg0, op.number);
  switch (op.atom) {
    case DW_OP_addr:
      return push(op.number + frame_.load_bias);
    case DW_OP_fbreg:
      return frame_base_ && push(*frame_base_ + op.number);
    case DW_OP_call_frame_cfa:
      return frame_.cfa && push(*frame_.cfa);
    case DW_OP_regx:
      return in_register(op.number);
    case DW_OP_bregx:
      return push_register(op.number, op.number2);
    case DW_OP_deref:
      return dereference(sizeof(std::uint64_t));
    case DW_OP_deref_size:
      return dereference(op.number);
    case DW_OP_plus_uconst:
      if (stack_.empty()) return false;
      stack_.back() += op.number;
      return true;
    case DW_OP_dup:
      return !stack_.empty() && push(stack_.back());
    case DW_OP_neg:
      if (stack_.empty()) return false;
      stack_.back() = 0 - stack_.back();
      return true;
    case DW_OP_stack_value:
      is_value_ = true;
      return !stack_.empty();
    case DW_OP_nop:
      return true;
    default:
      return push_constant(op) || combine(op.atom);
  }
}

}  // namespace

std::optional<ValuePlace> evaluate(std::span<const Dwarf_Op> expression, const DwarfFrame& frame,
                                   const std::optional<std::uint64_t>& frame_base) {
  Machine machine(frame, frame_base);
  for (const Dwarf_Op& op : expression)
    if (!machine.execute(op)) return std::nullopt;
  return machine.result();
}

}  // namespace mixstack::symbolize
