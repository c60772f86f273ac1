// From a code address and AMD64 unwind data to the rule that leads to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/unwind/rule.h"
#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows {

using Amd64Location = FunctionLocation;

/// The rule at `where`, unwind data (and, in version 1, the code at the pc) read through `data`. Trust `certain`,
/// origin `managed`; `is_signal_frame` for a machine frame. The return address is register 16. Registers saved by the
/// frame have rules; nothing is said of others. Code that cannot be read counts as "not in an epilogue", as in
/// CoreCLR. Errors: `unreadable_memory`, `truncated`, `unsupported` (version), `malformed` (codes that contradict each
/// other), `limit_exceeded` (more than 32 chained records). Allocates nothing.
///
/// Follows OOPStackUnwinderAMD64::VirtualUnwind in dotnet/runtime src/coreclr/unwinder/amd64/unwinder.cpp.
[[nodiscard]] Result<UnwindRule> amd64_rule(const UnwindDataSource& data, const Amd64Location& where);

/// The same from bytes: `unwind_info` of `where.function`, `code` from the pc on (48 bytes suffice; empty: not in an
/// epilogue). `chain` is asked for the records of chained functions only.
[[nodiscard]] Result<UnwindRule> amd64_rule(std::span<const std::byte> unwind_info, const Amd64Location& where,
                                            std::span<const std::byte> code, const UnwindDataSource& chain);

/// Chained unwind data.
[[nodiscard]] bool amd64_is_fragment(const UnwindDataSource& data, const RuntimeFunction& function);

/// SizeOfProlog.
[[nodiscard]] std::optional<std::uint32_t> amd64_prologue_size(const UnwindDataSource& data,
                                                               const RuntimeFunction& function);

}  // namespace mixstack::unwind::windows
