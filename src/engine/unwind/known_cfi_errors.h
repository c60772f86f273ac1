// Corrects functions whose call frame information is wrong, recognised by their machine code (x86_64/).
#pragma once

#include <cstdint>
#include <span>

#include "engine/unwind/cfi_compiler.h"
#include "engine/unwind/cfi_section.h"
#include "engine/unwind/rule.h"

namespace mixstack::unwind {

/// CoreCLR replaces return addresses to suspend threads; a method then returns to OnHijackTripThread
/// (src/coreclr/vm/amd64/asmhelpers.S, x86-64), which first pushes a word for the true return address. Its CFI
/// describes a function that was called, and so has the CFA, and the return address, one word too high. Only the CFA is
/// corrected.
///
/// Recognised by rows that save no register, in a function that begins by pushing rax, rbp, rbx, r15, r14, r13 and r12.
void correct_known_errors(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows);
/// The same for one rule of the function.
void correct_known_errors(const CfiSection& section, const Fde& fde, UnwindRule& rule);

/// The same for one row, given the first kKnownErrorBytes bytes of the function's code. For walks of the own process;
/// signal-safe.
inline constexpr std::size_t kKnownErrorBytes = 11;
[[nodiscard]] bool may_have_known_error(Arch arch, const CompactRule& row, std::uint64_t function_size);
void correct_known_error(CompactRule& row, std::span<const std::byte> function_start);

}  // namespace mixstack::unwind
