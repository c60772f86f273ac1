// Where the native code of a method keeps its arguments and locals: the variables of its debug information.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dotnet/code/debug_info.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet {

/// A place of a variable (ICorDebugInfo::VarLoc). Registers are numbered as the psABI has them (mixstack/registers.h).
struct VariablePlace {
  enum class Kind : std::uint8_t {
    elsewhere,  ///< in a floating-point or vector register, on the x87 stack, among variable arguments
    in_register,
    by_register,   ///< the register holds its address
    on_stack,      ///< at base + offset
    by_stack,      ///< its address lies at base + offset
    in_registers,  ///< its first eight bytes in `first`, the rest in `second`
    split,         ///< a half in a register, a half on the stack
  };
  Kind kind = Kind::elsewhere;
  unsigned first = 0, second = 0;  ///< registers; of those on the stack `first` is the base
  std::int32_t offset = 0;
  friend bool operator==(const VariablePlace&, const VariablePlace&) = default;
};

/// Where a variable is while code of `begin` .. `end` runs, counted from the start of the method.
struct VariableHome {
  std::uint32_t begin = 0, end = 0;
  /// Arguments, `this` first, then locals as the IL numbers them; negative: what the compiler has added.
  std::int32_t number = 0;
  VariablePlace place;
  friend bool operator==(const VariableHome&, const VariableHome&) = default;
};

inline constexpr std::uint32_t kMostVariableHomes = 1 << 16;  ///< of one method

/// Decodes what lies in the part of variables; numbers of registers are those of `arch`.
/// Errors: `truncated`, `malformed`, `limit_exceeded`, `unsupported_cpu`.
/// Source: DoNativeVarInfo in src/coreclr/vm/debuginfostore.cpp, src/coreclr/inc/cordebuginfo.h.
[[nodiscard]] Result<std::vector<VariableHome>> decode_variables(std::span<const std::byte> bytes, Arch arch,
                                                                 DebugInfoForm form = DebugInfoForm::bits);

/// The same of the debug information at `blob`; empty: nothing is recorded. Errors of reading, too.
[[nodiscard]] Result<std::vector<VariableHome>> read_variables(const MemoryReader& memory, Address blob,
                                                               DebugInfoWriter writer, DebugInfoForm form, Arch arch);

/// Whether a callee gives the register back as it was, the stack pointer included.
[[nodiscard]] bool is_kept_across_calls(Arch arch, unsigned reg);

/// Where variable `number` is before the instruction at `native`. Nothing: it is not kept, or the table contradicts
/// itself.
[[nodiscard]] std::optional<VariablePlace> place_of(std::span<const VariableHome> homes, std::int32_t number,
                                                    std::uint32_t native);

}  // namespace mixstack::dotnet
