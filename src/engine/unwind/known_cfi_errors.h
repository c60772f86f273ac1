// Corrects functions whose call frame information is wrong, recognised by their machine code (x86_64/, aarch64/).
#pragma once

#include <cstdint>
#include <span>

#include "engine/unwind/cfi_compiler.h"
#include "engine/unwind/cfi_section.h"
#include "engine/unwind/rule.h"

namespace mixstack::unwind {

/// x86-64: CoreCLR replaces return addresses to suspend threads; a method then returns to OnHijackTripThread
/// (src/coreclr/vm/amd64/asmhelpers.S), which first pushes a word for the true return address. Its CFI describes a
/// function that was called, and so has the CFA, and the return address, one word too high. Only the CFA is corrected.
/// Recognised by rows that save no register, in a function that begins by pushing rax, rbp, rbx, r15, r14, r13 and r12.
///
/// ARM64: the first call of a function of another library goes through _dl_runtime_resolve of glibc
/// (sysdeps/aarch64/dl-trampoline.S). The stub before it (PLT) pushed x16 and the return address. Its CFI says where
/// the return address lies, at CFA + 8, but not that the caller's sp lies behind both. So the CFA is 16 bytes too low,
/// and callers without a frame pointer are walked wrongly. Recognised by these rows, in a function that begins by
/// pushing x8 and x9, which no compiler does.
void correct_known_errors(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows);
/// The same for one rule of the function.
void correct_known_errors(const CfiSection& section, const Fde& fde, UnwindRule& rule);

/// The same for one row or rule, given the first kKnownErrorBytes bytes of the function's code. For walks of the own
/// process; signal-safe.
inline constexpr std::size_t kKnownErrorBytes = 11;
[[nodiscard]] bool may_have_known_error(Arch arch, const CompactRule& row, std::uint64_t function_size);
[[nodiscard]] bool may_have_known_error(Arch arch, const UnwindRule& rule, std::uint64_t function_size);
void correct_known_error(Arch arch, CompactRule& row, std::span<const std::byte> function_start);
void correct_known_error(Arch arch, UnwindRule& rule, std::span<const std::byte> function_start);

/// The errors that are known of one CPU. The members are defined for those that are walked.
template <Arch>
struct KnownCfiErrors {
  [[nodiscard]] static bool may_be(const CompactRule& row);
  [[nodiscard]] static bool may_be(const UnwindRule& rule);
  [[nodiscard]] static bool may_be_all(std::span<const CompiledRow> rows);  ///< of the function
  [[nodiscard]] static bool is_code(std::span<const std::byte> function_start);
  static void correct(CompactRule& row);
  static void correct(UnwindRule& rule);
};

}  // namespace mixstack::unwind
