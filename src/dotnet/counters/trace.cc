// Input: a function's address, its arguments, the target's memory. Output: its result and where that came from.
// Algorithm: one instruction after the other, as the CPU would do it, on registers and a stack of our own. A value has
// its origin: a load gives the address that was read, moves keep it, a multiplication by a constant keeps it with a
// factor, everything else loses it. A value that cannot be known (memory that cannot be read, vectors) is not known,
// and spreads. So an answer does not hang on the instructions that a compiler chose. Bounds: kMostSteps instructions,
// kMostDepth calls, kMostCalls of each list; the stack has a fixed size.
#include "dotnet/counters/trace.h"

#include <array>
#include <bit>

#include "base/arch/per_cpu.h"
#include "dotnet/counters/aarch64/instruction.h"
#include "dotnet/counters/x86_64/instruction.h"

namespace mixstack::dotnet::counters {
namespace {

constexpr std::size_t kMostSteps = 1000, kInstructionBytes = 16;
constexpr unsigned kMostDepth = 4;
constexpr Address kEnd = Address{0x6e59} << 48;  // the function's return address
constexpr Address kFirstStack = kObject - 0x100;

using Decoder = Instruction (*)(std::span<const std::byte>, Address);
constexpr arch::PerCpu<Decoder> kDecoders{.x86_64 = x86_64::decode, .aarch64 = aarch64::decode};
constexpr arch::PerCpu<CallRules> kRules{.x86_64 = x86_64::kCallRules, .aarch64 = aarch64::kCallRules};

std::uint64_t mask(unsigned size) { return size >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1; }
bool is_negative(std::uint64_t bits, unsigned size) { return (bits >> (8 * size - 1) & 1) != 0; }

Value known(std::uint64_t bits) {
  Value v;
  v.is_known = true;
  v.bits = bits;
  return v;
}

struct Flags {
  bool is_known = false, zero = false, negative = false, below = false, overflow = false;
};

/// Nothing: the flags are not known, or not that one.
std::optional<bool> holds(const Flags& f, Condition condition) {
  if (!f.is_known) return std::nullopt;
  const auto number = static_cast<unsigned>(condition);
  const std::array<std::optional<bool>, 8> all{f.overflow,
                                               f.below,
                                               f.zero,
                                               f.below || f.zero,
                                               f.negative,
                                               std::nullopt,
                                               f.negative != f.overflow,
                                               f.zero || f.negative != f.overflow};
  const auto value = all[number / 2];
  return value ? std::optional<bool>(*value != ((number & 1) != 0)) : std::nullopt;
}

class Machine {
 public:
  Machine(Decoder decode, const CallRules& rules, const MemoryReader& memory)
      : decode_(decode), rules_(rules), memory_(memory) {}

  std::optional<CodeTrace> run(Address function, std::array<std::uint64_t, 3> arguments) {
    regs_[rules_.first] = known(arguments[0]);
    regs_[rules_.second] = known(arguments[1]);
    regs_[rules_.third] = known(arguments[2]);
    regs_[rules_.stack] = known(kFirstStack);
    at_ = function;
    return_to(kEnd);
    for (std::size_t step = 0; step < kMostSteps && at_ != kEnd; step++)
      if (!this->step()) return std::nullopt;
    if (at_ != kEnd) return std::nullopt;
    trace_.result = regs_[rules_.result];
    for (std::size_t i = 0; i < trace_.of_object.size(); i++) trace_.of_object[i] = own_[(kObject - kOwnStack) / 8 + i];
    return std::move(trace_);
  }

 private:
  bool step() {
    std::array<std::byte, kInstructionBytes> bytes{};
    const auto size = memory_.read_some(at_, bytes);
    if (!size) return false;
    const Instruction i = decode_(std::span(bytes).first(std::min(*size, bytes.size())), at_);
    if (i.length == 0 || i.action == Action::not_known) return false;
    at_ += i.length;
    if (i.moved != kNoRegister && i.move_by != 0 && i.is_moved_before) move_register(i);
    const bool is_good = act(i);
    if (i.moved != kNoRegister && i.move_by != 0 && !i.is_moved_before) move_register(i);
    return is_good;
  }

  void move_register(const Instruction& i) {
    Value& v = regs_[i.moved];
    v = v.is_known ? known(v.bits + static_cast<std::uint64_t>(i.move_by)) : Value{};
  }

  bool act(const Instruction& i) {
    switch (i.action) {
      case Action::nothing:
        return true;
      case Action::move: {
        const Value first = load(i.left, i), second = load(i.second_left, i);
        return put(i.to, i.size, first) && put(i.second_to, i.size, second);
      }
      case Action::address:
        return put(i.to, i.size, address(i.left));
      case Action::compare:
      case Action::test:
      case Action::add:
      case Action::subtract:
      case Action::bit_and:
      case Action::bit_or:
      case Action::bit_xor:
      case Action::multiply:
      case Action::shift_left:
        return calculate(i);
      case Action::choose: {
        const auto is_left = holds(flags_, i.condition);
        return put(i.to, i.size, !is_left ? Value{} : load(*is_left ? i.left : i.right, i));
      }
      case Action::forget:
        forget(i.to, i.size);
        return true;
      case Action::push:
        return push(load(i.left, i));
      case Action::pop:
        return pop(i.to);
      case Action::leave:
        regs_[rules_.stack] = regs_[rules_.frame];
        return pop({.kind = Operand::Kind::reg, .reg = rules_.frame});
      default:
        return go(i);
    }
  }

  bool go(const Instruction& i) {
    switch (i.action) {
      case Action::jump_if: {
        const auto is_taken = holds(flags_, i.condition);
        if (is_taken && *is_taken) at_ = i.left.value;
        return is_taken.has_value();
      }
      case Action::jump_bits: {
        const Value bits = load(i.right, i);
        if (bits.is_known && ((bits.bits & i.added.value) == 0) == (i.condition == Condition::equal))
          at_ = i.left.value;
        return bits.is_known;
      }
      case Action::jump:
      case Action::call:
        return reach(i);
      case Action::give_back:
        return give_back(i);
      default:
        return false;
    }
  }

  bool reach(const Instruction& i) {
    const bool is_call = i.action == Action::call, is_direct = i.left.kind == Operand::Kind::constant;
    if (is_call && is_direct) {
      skip_call();
      return true;
    }
    const Value target = is_direct ? known(i.left.value) : load(i.left, i);
    if (!target.is_known) return false;
    if (!is_direct && trace_.object.bits == 0) trace_.object = regs_[rules_.first];
    if (is_call) {
      if (++depth_ > kMostDepth) return false;
      return_to(at_);
    }
    at_ = target.bits;
    return true;
  }

  void skip_call() {
    if (trace_.calls.size() < kMostCalls) trace_.calls.push_back({regs_[rules_.first], regs_[rules_.second]});
    for (unsigned r = 0; r < kRegisters; r++)
      if ((rules_.kept >> r & 1) == 0 && r != rules_.stack) regs_[r] = {};
    flags_ = {};
    regs_[rules_.result] = known(kThreadLocals);
  }

  void return_to(Address where) {
    if (rules_.link != kNoRegister)
      regs_[rules_.link] = known(where);
    else
      (void)push(known(where));
  }

  bool give_back(const Instruction& i) {
    Value target;
    if (rules_.link != kNoRegister)
      target = regs_[i.left.reg % kRegisters];
    else if (!take(target))
      return false;
    if (depth_ != 0) depth_--;
    at_ = target.bits;
    return target.is_known;
  }

  bool push(const Value& value) {
    Value& sp = regs_[rules_.stack];
    if (!sp.is_known) return false;
    sp = known(sp.bits - 8);
    return store(sp.bits, 8, value);
  }
  bool take(Value& out) {
    Value& sp = regs_[rules_.stack];
    if (!sp.is_known) return false;
    out = load_at(sp.bits, 8);
    sp = known(sp.bits + 8);
    return true;
  }
  bool pop(const Operand& to) {
    Value value;
    return take(value) && put(to, 8, value);
  }

  [[nodiscard]] Value address(const Operand& o) const {
    std::uint64_t sum = o.value;
    if (o.is_thread_local) sum += kThreadLocals;
    if (o.reg != kNoRegister) {
      const Value& base = regs_[o.reg % kRegisters];
      if (!base.is_known) return {};
      sum += base.bits;
    }
    if (o.index == kNoRegister) return known(sum);
    const Value& index = regs_[o.index % kRegisters];
    if (!index.is_known) return {};
    Value v = known(sum + index.bits * o.scale);
    // lea (r, r, 4): five times what r is.
    if (o.reg == o.index && o.value == 0 && index.from != 0) {
      v.from = index.from;
      v.from_size = index.from_size;
      v.factor = index.factor * (o.scale + 1u);
    }
    return v;
  }

  Value load(const Operand& o, const Instruction& i) {
    const unsigned size = i.from_size != 0 ? i.from_size : i.size;
    Value v;
    if (o.kind == Operand::Kind::constant) v = known(o.value);
    if (o.kind == Operand::Kind::reg) v = regs_[o.reg % kRegisters];
    if (o.kind == Operand::Kind::memory) {
      const Value at = address(o);
      if (at.is_known) v = load_at(at.bits, size);
    }
    const std::uint64_t cut = v.bits & mask(size);
    if (cut != v.bits && v.from_size > size) v.from = 0;
    v.bits = cut;
    if (i.is_signed && size < i.size && is_negative(cut, size)) v.bits = cut | ~mask(size);
    return v.is_known ? v : Value{};
  }

  [[nodiscard]] static bool is_own(Address at) { return at >= kOwnStack && at < kOwnStackEnd; }

  Value load_at(Address at, unsigned size) {
    if (is_own(at)) {
      Value v = own_[(at - kOwnStack) / 8];
      return at % 8 == 0 ? v : Value{};
    }
    if (at - kThreadLocals + kThreadLocalReach < 2 * kThreadLocalReach) {
      if (trace_.read_of_thread.size() < kMostCalls) trace_.read_of_thread.push_back(at);
      Value v = known(word_of_thread(at));
      v.from = at;
      v.from_size = static_cast<std::uint8_t>(size);
      return v;
    }
    std::uint64_t bits = 0;
    const auto bytes = std::as_writable_bytes(std::span(&bits, 1)).first(std::min<std::size_t>(size, 8));
    if (!memory_.read_exact(at, bytes)) return {};
    Value v = known(bits);
    v.from = at;
    v.from_size = static_cast<std::uint8_t>(size);
    return v;
  }

  /// Writes to the stack alone; what a function would write elsewhere is left out, and read as it is in the target.
  bool store(Address at, unsigned size, const Value& value) {
    if (!is_own(at)) return true;
    Value& slot = own_[(at - kOwnStack) / 8];
    const bool is_whole = at % 8 == 0 && size >= 4 && size <= 8;
    slot = is_whole ? value : Value{};
    if (is_whole) slot.bits &= mask(size);
    return true;
  }

  void forget(const Operand& to, unsigned size) {
    if (to.kind == Operand::Kind::reg) regs_[to.reg % kRegisters] = {};
    if (to.kind != Operand::Kind::memory) return;
    const Value at = address(to);
    for (unsigned done = 0; at.is_known && done < size; done += 8) (void)store(at.bits + done, 1, {});
  }

  bool put(const Operand& to, unsigned size, Value value) {
    if (to.kind == Operand::Kind::none) return true;
    value.bits &= mask(size);
    if (to.kind == Operand::Kind::memory) {
      const Value at = address(to);
      return at.is_known ? store(at.bits, size, value) : true;
    }
    if (to.kind != Operand::Kind::reg) return false;
    Value& reg = regs_[to.reg % kRegisters];
    if (size < 4 && value.is_known) {
      const std::uint64_t rest = reg.bits & ~mask(size);
      value = reg.is_known ? known(rest | value.bits) : Value{};
    }
    reg = value.is_known ? value : Value{};
    return true;
  }

  bool calculate(const Instruction& i) {
    const Value left = load(i.left, i), right = load(i.right, i);
    const bool is_same =
        i.left.kind == Operand::Kind::reg && i.right.kind == Operand::Kind::reg && i.left.reg == i.right.reg;
    Value out;
    // xor r, r is zero, whatever r is.
    if (left.is_known && right.is_known) out = combine(i, left, right);
    if (i.action == Action::bit_xor && is_same) out = known(0);
    if (i.added.kind == Operand::Kind::reg) {
      const Value& added = regs_[i.added.reg % kRegisters];
      out = out.is_known && added.is_known ? known(out.bits + added.bits) : Value{};
    }
    if (i.sets_flags) flags_ = out.is_known ? flags_of(i, left.bits, right.bits, out.bits) : Flags{};
    return i.action == Action::compare || i.action == Action::test ? true : put(i.to, i.size, out);
  }

  static Value combine(const Instruction& i, const Value& left, const Value& right) {
    const std::uint64_t a = left.bits, b = right.bits;
    const auto times = [&](std::uint64_t factor) {
      Value v = known(a * factor);
      if (left.from == 0) return v;
      v.from = left.from;
      v.from_size = left.from_size;
      v.factor = left.factor * factor;
      return v;
    };
    switch (i.action) {
      case Action::add:
        if (i.left.kind == Operand::Kind::reg && i.right.kind == i.left.kind && i.left.reg == i.right.reg)
          return times(2);
        return known(a + b);
      case Action::subtract:
      case Action::compare:
        return known(a - b);
      case Action::bit_and:
      case Action::test:
        return known(a & b);
      case Action::bit_or:
        return known(a | b);
      case Action::bit_xor:
        return known(a ^ b);
      case Action::multiply:
        return i.right.kind == Operand::Kind::constant && i.added.kind == Operand::Kind::none ? times(b) : known(a * b);
      case Action::shift_left:
        return b < 32 ? times(std::uint64_t{1} << b) : Value{};
      default:
        return {};
    }
  }

  static Flags flags_of(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t result) {
    const unsigned size = std::min<unsigned>(i.size, 8);
    a &= mask(size);
    b &= mask(size);
    result &= mask(size);
    Flags f{.is_known = true, .zero = result == 0, .negative = is_negative(result, size)};
    const bool a_negative = is_negative(a, size), b_negative = is_negative(b, size);
    if (i.action == Action::subtract || i.action == Action::compare) {
      f.below = a < b;
      f.overflow = a_negative != b_negative && f.negative != a_negative;
    } else if (i.action == Action::add) {
      f.below = result < a;
      f.overflow = a_negative == b_negative && f.negative != a_negative;
    }
    return f;
  }

  Decoder decode_;
  const CallRules& rules_;
  const MemoryReader& memory_;
  Address at_ = 0;
  unsigned depth_ = 0;
  std::array<Value, kRegisters> regs_{};
  std::vector<Value> own_ = std::vector<Value>((kOwnStackEnd - kOwnStack) / 8);
  Flags flags_;
  CodeTrace trace_;
};

}  // namespace

std::uint64_t word_of_thread(Address at) {
  std::uint64_t h = (at ^ 0x5bd1e995u) * 0x9e3779b97f4a7c15u;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  return h ^ h >> 32;
}

std::optional<CodeTrace> follow(Arch arch, const MemoryReader& memory, Address function,
                                std::array<std::uint64_t, 3> arguments) {
  const Decoder decode = kDecoders[arch];
  if (decode == nullptr || function == 0) return std::nullopt;
  return Machine(decode, kRules[arch], memory).run(function, arguments);
}

}  // namespace mixstack::dotnet::counters
