// A system call that the filter trapped, as the SIGSYS handler sees it; implemented per CPU in the twin folders.
#pragma once

#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstdint>

namespace mixstack::helper {

struct TrappedCall {
  long number = 0;
  std::array<std::uint64_t, 4> arguments{};
};

/// Both functions are async-signal-safe.
[[nodiscard]] TrappedCall trapped_call(const siginfo_t& info, const ucontext_t& context);
/// Sets the call's return value: a value, or a negated errno.
void set_result(ucontext_t& context, long result);

}  // namespace mixstack::helper
