// From a code address and ARM64 unwind data to the rule that leads to the caller.
#pragma once

#include <cstdint>
#include <span>

#include "engine/unwind/rule.h"
#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows {

using Arm64Location = FunctionLocation;

/// The rule at `where`: trust `certain`, origin `managed`. The return address is lr (register 30), which has a rule
/// where it is saved and is live otherwise; behind a stored context it is pc (register 32) and `is_signal_frame` is
/// set. `ra_is_signed` where the code has signed lr at this pc. `function.end` is not used. Errors:
/// `unreadable_memory`, `truncated`, `unsupported` (version, ec_context), `malformed`. Allocates nothing.
///
/// Follows RtlpUnwindFunctionFull in dotnet/runtime src/coreclr/unwinder/arm64/unwinder.cpp.
[[nodiscard]] Result<UnwindRule> arm64_rule(const UnwindDataSource& data, const Arm64Location& where);

/// The same from the bytes of the .xdata record (or from none, when the row is packed).
[[nodiscard]] Result<UnwindRule> arm64_rule(std::span<const std::byte> xdata, const Arm64Location& where);

/// Unwind codes that begin with end_c.
[[nodiscard]] bool arm64_is_fragment(const UnwindDataSource& data, const RuntimeFunction& function);

/// Size of the function or fragment in bytes, which ARM64 rows do not hold themselves.
[[nodiscard]] Result<std::uint32_t> arm64_function_length(const UnwindDataSource& data,
                                                          const RuntimeFunction& function);

}  // namespace mixstack::unwind::windows
