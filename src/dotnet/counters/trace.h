// A call of a function of the target, followed on paper: nothing of the target is changed or run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dotnet/counters/instruction.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet::counters {

/// A register or a word of the stack.
struct Value {
  bool is_known = false;
  std::uint64_t bits = 0;
  /// Where it was read in the target, if it is what was read there times `factor`. 0: it was made otherwise.
  Address from = 0;
  std::uint8_t from_size = 0;
  std::uint64_t factor = 1;
};

/// Memory that only the trace has: its stack, with an object for results, and the thread's own variables. No address of
/// a program can be one of these.
inline constexpr Address kOwnStack = Address{0x6e57} << 48, kObject = kOwnStack + 0x800, kOwnStackEnd = kObject + 0x400;
inline constexpr Address kThreadLocals = Address{0x6e58} << 48;
inline constexpr std::uint64_t kThreadLocalReach = 1 << 20;  ///< bytes before and behind it

/// The word that the trace has at an address among the thread's variables: another one at each.
[[nodiscard]] std::uint64_t word_of_thread(Address at);

struct CodeTrace {
  Value result;
  Value object;  ///< first argument of the first function that was reached through a pointer
  struct Call {
    Value first, second;
  };
  std::vector<Call> calls;              ///< of functions that were not followed; at most kMostCalls
  std::vector<Address> read_of_thread;  ///< which of the thread's variables were read, at most kMostCalls
  std::array<Value, 0x80> of_object{};  ///< the words from kObject on
};
inline constexpr std::size_t kMostCalls = 32;

/// Follows a function with these arguments until it returns. Functions that it reaches through a pointer are followed,
/// others are not: their result is taken for the address of the thread's variables, which is what such functions ask
/// for. Nothing where the CPU is not known, an instruction is not, a jump depends on what is not known, or it does not
/// end soon. Reads code and data through `memory`; an unreadable word is not known.
[[nodiscard]] std::optional<CodeTrace> follow(Arch arch, const MemoryReader& memory, Address function,
                                              std::array<std::uint64_t, 3> arguments);

}  // namespace mixstack::dotnet::counters
