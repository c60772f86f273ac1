// Input: the operations of a DWARF location expression, as libdw decoded them, and a frame.
// Output: the places of a value's bytes, in order: memory, registers, computed, constant, nowhere. Nothing if the
// expression needs a value that is not known, or an operation that is not implemented: unavailable is better than
// wrong.
// Algorithm: the stack machine of DWARF 5, section 2.5. Each entry of the stack has a base type, because arithmetic and
// comparison depend on its size and sign. execute() tries pieces first, because a piece ends a place; after the name of
// a register or a value only a piece may follow, so all other operations are refused then. The rest is tried group by
// group, and each group refuses operations that are not its own. result() answers the pieces, or the one place that is
// left.
// Bounds: kMaxDepth entries, kMaxPieces pieces, kMaxSteps operations (branches may lead back), base types of 1 to 8
// bytes.
#include "engine/dwarf/expression.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>

#include "base/arch/cpu.h"

namespace mixstack::symbols {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxPieces = 64;
constexpr std::size_t kMaxSteps = 4096;  // branches may lead back

/// The base type of a stack entry (DWARF 5, 2.5.1); the generic one is an address-sized integer without a given sign.
struct BaseType {
  std::size_t size = 8;
  bool is_signed = false, is_float = false;
  bool is_generic = true;
  /// For operations on whose sign a generic value leaves the choice.
  [[nodiscard]] bool is_unsigned() const { return !is_generic && !is_signed; }
  friend bool operator==(const BaseType&, const BaseType&) = default;
};

struct Entry {
  std::uint64_t bits = 0;
  BaseType type;
};

std::uint64_t widen(std::uint64_t bits, const BaseType& type) {
  if (type.size >= 8) return bits;
  const unsigned unused = 64 - 8 * static_cast<unsigned>(type.size);
  if (!type.is_signed) return bits << unused >> unused;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
}

/// The bits of an integer as if its type had a sign, or none.
std::uint64_t as_sign(const Entry& entry, bool is_signed) {
  BaseType type = entry.type;
  type.is_signed = is_signed;
  return widen(entry.bits, type);
}

std::optional<BaseType> base_type(Dwarf_Attribute* attribute, const Dwarf_Op& op) {
  const bool is_conversion = op.atom == DW_OP_convert || op.atom == DW_OP_GNU_convert || op.atom == DW_OP_reinterpret ||
                             op.atom == DW_OP_GNU_reinterpret;
  if (is_conversion && op.number == 0) return BaseType{};
  Dwarf_Die die;
  if (attribute == nullptr || ::dwarf_getlocation_die(attribute, &op, &die) != 0) return std::nullopt;
  if (::dwarf_tag(&die) != DW_TAG_base_type) return std::nullopt;
  Dwarf_Attribute found;
  Dwarf_Word encoding = 0;
  const int size = ::dwarf_bytesize(&die);
  if (size < 1 || size > 8 || ::dwarf_attr(&die, DW_AT_encoding, &found) == nullptr ||
      ::dwarf_formudata(&found, &encoding) != 0)
    return std::nullopt;
  return BaseType{static_cast<std::size_t>(size), encoding == DW_ATE_signed || encoding == DW_ATE_signed_char,
                  encoding == DW_ATE_float, false};
}

/// The stack machine of DWARF 5, section 2.5.
class Machine {
 public:
  explicit Machine(const ExpressionInput& input) : input_(input), frame_(input.frame) {}

  [[nodiscard]] std::optional<std::vector<ValuePlace>> run(std::span<const Dwarf_Op> ops) {
    std::size_t at = 0;
    for (std::size_t steps = 0; at < ops.size(); steps++) {
      if (steps >= kMaxSteps || !execute(ops[at])) return std::nullopt;
      if (!jump_) {
        at++;
        continue;
      }
      const auto target = std::find_if(ops.begin(), ops.end(), [&](const Dwarf_Op& o) { return o.offset == *jump_; });
      if (target == ops.end()) return std::nullopt;
      at = static_cast<std::size_t>(target - ops.begin());
      jump_.reset();
    }
    return result();
  }

 private:
  [[nodiscard]] std::optional<std::vector<ValuePlace>> result() const {
    const auto rest = place();
    if (!pieces_.empty()) return rest ? std::nullopt : std::optional(pieces_);
    if (!rest) return std::nullopt;
    return std::vector<ValuePlace>{*rest};
  }
  /// The place described since the last piece.
  [[nodiscard]] std::optional<ValuePlace> place() const {
    if (place_) return place_;
    if (stack_.empty()) return std::nullopt;
    return ValuePlace{is_value_ ? ValuePlace::Kind::computed : ValuePlace::Kind::memory, stack_.back().bits, {}, 0};
  }
  bool end_piece(std::size_t size) {
    if (pieces_.size() >= kMaxPieces || size == 0) return false;
    ValuePlace piece = place().value_or(ValuePlace{ValuePlace::Kind::nowhere, 0, {}, 0});
    piece.size = size;
    pieces_.push_back(piece);
    place_.reset();
    stack_.clear();
    is_value_ = false;
    return true;
  }
  bool push(std::uint64_t value, BaseType type = {}) {
    if (stack_.size() >= kMaxDepth) return false;
    stack_.push_back({widen(value, type), type});
    return true;
  }
  bool push_register(std::uint64_t reg, std::uint64_t offset) {
    const auto value = frame_.registers->get(static_cast<unsigned>(reg));
    return value && push(*value + offset);
  }
  bool in_register(std::uint64_t reg) {
    place_ = ValuePlace{ValuePlace::Kind::in_register, reg, {}, 0};
    return true;
  }
  bool dereference(std::size_t size, BaseType type = {});
  bool combine(std::uint8_t atom);
  bool divide(std::uint8_t atom, Entry& left, const Entry& right);
  bool compare(std::uint8_t atom);
  bool change_top(const Dwarf_Op& op);
  bool move(const Dwarf_Op& op);
  bool branch(const Dwarf_Op& op);
  bool push_constant(const Dwarf_Op& op);
  bool push_typed(const Dwarf_Op& op);
  bool push_entry_value(const Dwarf_Op& op);
  bool describe_place(const Dwarf_Op& op);
  bool execute(const Dwarf_Op& op);

  const ExpressionInput& input_;
  const DwarfFrame& frame_;
  std::vector<Entry> stack_;
  std::optional<ValuePlace> place_;
  std::vector<ValuePlace> pieces_;
  std::optional<std::uint64_t> jump_;  ///< offset of the operation that is next
  bool is_value_ = false;
};

bool Machine::dereference(std::size_t size, BaseType type) {
  if (stack_.empty() || size == 0 || size > sizeof(std::uint64_t)) return false;
  std::uint64_t value = 0;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1)).first(size);
  if (!frame_.memory->read_exact(stack_.back().bits, bytes)) return false;
  stack_.back() = {widen(value, type), type};
  return true;
}

bool Machine::divide(std::uint8_t atom, Entry& left, const Entry& right) {
  if (right.bits == 0) return false;
  // For the generic type, division is signed and the remainder is not (DWARF 5, 2.5.1.4).
  if (atom == DW_OP_div && left.type.is_unsigned()) {
    left.bits /= right.bits;
  } else if (atom == DW_OP_div) {
    const auto a = static_cast<std::int64_t>(left.bits), b = static_cast<std::int64_t>(right.bits);
    left.bits = b == -1 ? 0 - left.bits : static_cast<std::uint64_t>(a / b);
  } else if (left.type.is_signed) {
    const auto a = static_cast<std::int64_t>(left.bits), b = static_cast<std::int64_t>(right.bits);
    left.bits = b == -1 ? 0 : static_cast<std::uint64_t>(a % b);
  } else {
    left.bits %= right.bits;
  }
  return true;
}

bool Machine::combine(std::uint8_t atom) {
  if (stack_.size() < 2) return false;
  const Entry right = stack_.back();
  Entry& left = stack_[stack_.size() - 2];
  if (right.type.is_float || left.type.is_float) return false;
  switch (atom) {
    case DW_OP_plus:
      left.bits += right.bits;
      break;
    case DW_OP_minus:
      left.bits -= right.bits;
      break;
    case DW_OP_mul:
      left.bits *= right.bits;
      break;
    case DW_OP_and:
      left.bits &= right.bits;
      break;
    case DW_OP_or:
      left.bits |= right.bits;
      break;
    case DW_OP_xor:
      left.bits ^= right.bits;
      break;
    case DW_OP_shl:
      left.bits = right.bits < 64 ? left.bits << right.bits : 0;
      break;
    case DW_OP_shr:
      // Zeros come in from above its own size, which a sign may have filled.
      left.bits = right.bits < 64 ? as_sign(left, false) >> right.bits : 0;
      break;
    case DW_OP_shra:
      left.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(as_sign(left, true)) >>
                                             std::min<std::uint64_t>(right.bits, 63));
      break;
    case DW_OP_div:
    case DW_OP_mod:
      if (!divide(atom, left, right)) return false;
      break;
    default:
      return compare(atom);
  }
  left.bits = widen(left.bits, left.type);
  stack_.pop_back();
  return true;
}

bool Machine::compare(std::uint8_t atom) {
  // For the generic type, comparisons are signed (DWARF 5, 2.5.1.5).
  const Entry right = stack_.back(), left = stack_[stack_.size() - 2];
  const auto a = static_cast<std::int64_t>(left.bits), b = static_cast<std::int64_t>(right.bits);
  const bool is_less = left.type.is_unsigned() ? left.bits < right.bits : a < b, is_equal = left.bits == right.bits;
  bool holds = false;
  switch (atom) {
    case DW_OP_eq:
      holds = is_equal;
      break;
    case DW_OP_ne:
      holds = !is_equal;
      break;
    case DW_OP_lt:
      holds = is_less;
      break;
    case DW_OP_le:
      holds = is_less || is_equal;
      break;
    case DW_OP_gt:
      holds = !is_less && !is_equal;
      break;
    case DW_OP_ge:
      holds = !is_less;
      break;
    default:
      return false;
  }
  stack_.resize(stack_.size() - 2);
  return push(holds ? 1 : 0);
}

bool Machine::change_top(const Dwarf_Op& op) {
  if (stack_.empty()) return false;
  Entry& top = stack_.back();
  switch (op.atom) {
    case DW_OP_plus_uconst:
      top.bits += op.number;
      break;
    case DW_OP_neg:
      top.bits = 0 - top.bits;
      break;
    case DW_OP_not:
      top.bits = ~top.bits;
      break;
    case DW_OP_abs:
      if (static_cast<std::int64_t>(top.bits) < 0) top.bits = 0 - top.bits;
      break;
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret: {
      const auto type = base_type(input_.attribute, op);
      if (!type) return false;
      // Conversion between integer and floating point would change the bits, too: refused.
      const bool is_same_kind = type->is_float == top.type.is_float && (!type->is_float || *type == top.type);
      const bool keeps_bits = op.atom == DW_OP_reinterpret || op.atom == DW_OP_GNU_reinterpret;
      if (keeps_bits ? type->size != top.type.size : !is_same_kind) return false;
      top = {widen(top.bits, *type), *type};
      return true;
    }
    default:
      return false;
  }
  if (top.type.is_float) return false;
  top.bits = widen(top.bits, top.type);
  return true;
}

bool Machine::move(const Dwarf_Op& op) {
  const std::size_t n = stack_.size();
  switch (op.atom) {
    case DW_OP_dup:
    case DW_OP_over:
    case DW_OP_pick: {
      const std::uint64_t below = op.atom == DW_OP_dup ? 0 : op.atom == DW_OP_over ? 1 : op.number;
      if (below >= n || n >= kMaxDepth) return false;
      stack_.push_back(stack_[n - 1 - below]);
      return true;
    }
    case DW_OP_drop:
      if (n == 0) return false;
      stack_.pop_back();
      return true;
    case DW_OP_swap:
      if (n < 2) return false;
      std::swap(stack_[n - 1], stack_[n - 2]);
      return true;
    case DW_OP_rot:
      if (n < 3) return false;
      std::rotate(stack_.end() - 3, stack_.end() - 1, stack_.end());
      return true;
    default:
      return false;
  }
}

bool Machine::branch(const Dwarf_Op& op) {
  if (op.atom != DW_OP_skip && op.atom != DW_OP_bra) return false;
  bool is_taken = true;
  if (op.atom == DW_OP_bra) {
    if (stack_.empty()) return false;
    is_taken = stack_.back().bits != 0;
    stack_.pop_back();
  }
  // The offset counts from the end of the operation: its code and two bytes.
  if (is_taken) jump_ = op.offset + 3 + op.number;
  return true;
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
      return push(op.number);  // libdw has sign-extended them
    default:
      return false;
  }
}

bool Machine::push_typed(const Dwarf_Op& op) {
  switch (op.atom) {
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type: {
      const auto type = base_type(input_.attribute, op);
      const auto bytes = type ? register_bytes(frame_, op.number, type->size) : std::vector<std::byte>();
      if (bytes.empty()) return false;
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes.data(), bytes.size());
      return push(bits, *type);
    }
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type: {
      const auto type = base_type(input_.attribute, op);
      return type && dereference(op.number, *type);
    }
    case DW_OP_const_type:
    case DW_OP_GNU_const_type: {
      const auto type = base_type(input_.attribute, op);
      if (!type) return false;
      // libdw has checked the block and gives its address; the first byte is its size.
      const auto* block = reinterpret_cast<const unsigned char*>(static_cast<std::uintptr_t>(op.number2));
      if (block[0] != type->size) return false;
      std::uint64_t bits = 0;
      std::memcpy(&bits, block + 1, type->size);
      return push(bits, *type);
    }
    default:
      return false;
  }
}

/// Only entry values of a single register: compilers write no others.
bool Machine::push_entry_value(const Dwarf_Op& op) {
  if (op.atom != DW_OP_entry_value && op.atom != DW_OP_GNU_entry_value) return false;
  Dwarf_Attribute block;
  Dwarf_Op* inner = nullptr;
  std::size_t count = 0;
  if (!input_.entry_value || input_.attribute == nullptr ||
      ::dwarf_getlocation_attr(input_.attribute, &op, &block) != 0 ||
      ::dwarf_getlocation(&block, &inner, &count) != 0 || count != 1)
    return false;
  const bool is_short = inner->atom >= DW_OP_reg0 && inner->atom <= DW_OP_reg31;
  if (!is_short && inner->atom != DW_OP_regx) return false;
  const auto value = input_.entry_value(is_short ? inner->atom - DW_OP_reg0 : inner->number);
  return value && push(*value);
}

bool Machine::describe_place(const Dwarf_Op& op) {
  switch (op.atom) {
    case DW_OP_addr:
      return push(op.number + frame_.load_bias);
    case DW_OP_fbreg:
      return input_.frame_base && push(*input_.frame_base + op.number);
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
    case DW_OP_stack_value:
      is_value_ = true;
      return !stack_.empty();
    case DW_OP_implicit_value: {
      Dwarf_Block block;
      if (input_.attribute == nullptr || ::dwarf_getlocation_implicit_value(input_.attribute, &op, &block) != 0)
        return false;
      const auto* start = reinterpret_cast<const std::byte*>(block.data);
      place_ = ValuePlace{ValuePlace::Kind::constant, 0, {start, block.length}, 0};
      return true;
    }
    case DW_OP_nop:
      return true;
    default:
      return false;
  }
}

bool Machine::execute(const Dwarf_Op& op) {
  if (op.atom == DW_OP_piece) return end_piece(op.number);
  if (op.atom == DW_OP_bit_piece) return op.number % 8 == 0 && op.number2 == 0 && end_piece(op.number / 8);
  if (place_ || is_value_) return false;  // after the name of a register, or a value, only a piece may follow
  if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push(op.atom - DW_OP_lit0);
  if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) return in_register(op.atom - DW_OP_reg0);
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) return push_register(op.atom - DW_OP_breg0, op.number);
  return describe_place(op) || push_constant(op) || push_typed(op) || push_entry_value(op) || change_top(op) ||
         move(op) || branch(op) || combine(op.atom);
}

}  // namespace

std::vector<std::byte> register_bytes(const DwarfFrame& frame, std::uint64_t reg, std::size_t size) {
  std::vector<std::byte> out;
  const std::uint64_t first = arch::cpu(frame.registers->arch()).vectors.first;
  if (const auto value = frame.registers->get(static_cast<unsigned>(reg)); value && size <= sizeof *value) {
    out.resize(size);
    std::memcpy(out.data(), &*value, size);
  } else if (frame.vectors != nullptr && reg >= first && reg - first < frame.vectors->values.size() &&
             size <= frame.vectors->size) {
    const auto& known = frame.vectors->values[reg - first];
    out.assign(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(size));
  }
  return out;
}

std::optional<std::vector<ValuePlace>> evaluate(std::span<const Dwarf_Op> expression, const ExpressionInput& input) {
  return Machine(input).run(expression);
}

}  // namespace mixstack::symbols
