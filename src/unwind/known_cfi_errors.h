// Functions whose call frame information is wrong, known by their machine code (x86_64/).
#pragma once

#include <cstdint>
#include <span>

#include "unwind/cfi_compiler.h"
#include "unwind/cfi_section.h"
#include "unwind/rule.h"

namespace mixstack::unwind {

/// CoreCLR replaces return addresses to suspend threads; then a method returns to OnHijackTripThread
/// (src/coreclr/vm/amd64/asmhelpers.S, x86-64), which pushes a word for the true return address first. Its CFI is that
/// of a function that was called: it has the return address one word too high, where there is something else. What is
/// wrong is the CFA alone, by as much.
///
/// Recognised by rows that save no register in a function that begins by pushing rax, rbp, rbx, r15, r14, r13 and r12.
void correct_known_errors(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows);
/// The same for one rule of the function.
void correct_known_errors(const CfiSection& section, const Fde& fde, UnwindRule& rule);

/// The same for one row of a function whose code is at hand: as many bytes of its start as kKnownErrorBytes. For walks
/// of the own process; signal-safe.
inline constexpr std::size_t kKnownErrorBytes = 11;
[[nodiscard]] bool may_have_known_error(Arch arch, const CompactRule& row, std::uint64_t function_size);
void correct_known_error(CompactRule& row, std::span<const std::byte> function_start);

}  // namespace mixstack::unwind
