// Recognises the stubs through which code calls other libraries (PLT), where they have no call frame information:
// linkers write it for x86-64 only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "engine/unwind/rule.h"
#include "mixstack/registers.h"

namespace mixstack::unwind {

/// Bytes of code looked at before the pc, and from the pc on.
inline constexpr std::size_t kPltStubBefore = 24, kPltStubAfter = 28;

/// The rule of a frame that was interrupted at `code[at]`, if a stub is there. Its instructions occur nowhere else in
/// this order, so the rule is `certain`. Signal-safe.
[[nodiscard]] std::optional<UnwindRule> match_plt_stub(Arch arch, std::span<const std::byte> code, std::size_t at);

namespace aarch64 {
[[nodiscard]] std::optional<UnwindRule> match_plt_stub(std::span<const std::byte> code, std::size_t at);
}  // namespace aarch64

}  // namespace mixstack::unwind
