// One instruction of any CPU, as far as short functions of the runtime use them.
#pragma once

#include <cstdint>

namespace mixstack::dotnet::counters {

inline constexpr std::uint8_t kNoRegister = 0xff;
inline constexpr unsigned kRegisters = 32;  ///< the most of a CPU; their numbers are those of its encoding

struct Operand {
  enum class Kind : std::uint8_t { none, reg, constant, memory };
  Kind kind = Kind::none;
  std::uint8_t reg = kNoRegister;    ///< of memory: the base; none: `value` is the address
  std::uint8_t index = kNoRegister;  ///< of memory
  std::uint8_t scale = 1;            ///< that the index is multiplied with
  bool is_thread_local = false;      ///< of memory: from the thread's own block on
  std::uint64_t value = 0;           ///< constant, or what is added to an address
};

enum class Action : std::uint8_t {
  not_known,  ///< what it does to registers is not known: a trace ends here
  nothing,
  move,     ///< to = left
  address,  ///< to = the address of `left`
  add,      ///< to = left + right, and so on
  subtract,
  bit_and,
  bit_or,
  bit_xor,
  multiply,  ///< to = left * right + added
  shift_left,
  compare,  ///< flags of left - right
  test,     ///< flags of left & right
  choose,   ///< to = left if the condition holds, else right
  forget,   ///< `to` becomes not known: floating point
  push,
  pop,
  leave,      ///< the frame pointer becomes the stack pointer, then is popped
  jump,       ///< to `left`
  jump_if,    ///< to `left`, if the condition holds
  jump_bits,  ///< to `left`, if the bits of `right` that `added` names are all zero (equal), or not
  call,       ///< `left`
  give_back   ///< return
};

/// Reads the flags of a comparison, in the order of x86.
enum class Condition : std::uint8_t {
  overflow,
  no_overflow,
  below,
  not_below,
  equal,
  not_equal,
  not_above,
  above,
  negative,
  not_negative,
  parity,
  no_parity,
  less,
  not_less,
  not_greater,
  greater
};

struct Instruction {
  Action action = Action::not_known;
  Condition condition = Condition::equal;
  std::uint8_t length = 0;     ///< in bytes; 0: not decoded
  std::uint8_t size = 8;       ///< bytes of the result: less than 4 leave the rest of a register
  std::uint8_t from_size = 0;  ///< bytes of `left` and `right`, if others
  bool is_signed = false;      ///< smaller ones are extended by their signs
  bool sets_flags = false;
  Operand to, left, right, added;
  Operand second_to, second_left;    ///< of a move of two values
  std::uint8_t moved = kNoRegister;  ///< a register that is moved by `move_by`, before or after the access
  bool is_moved_before = false;
  std::int64_t move_by = 0;
};

/// How functions of a CPU call each other.
struct CallRules {
  std::uint8_t first = 0, second = 0, third = 0;  ///< registers of arguments
  std::uint8_t result = 0, stack = 0, frame = 0;
  std::uint8_t link = kNoRegister;  ///< holds the return address; none: it is on the stack
  std::uint32_t kept = 0;           ///< registers that a called function leaves as they are, one bit for each
};

}  // namespace mixstack::dotnet::counters
