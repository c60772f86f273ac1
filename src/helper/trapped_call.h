// A system call that the filter did not let through, as the SIGSYS handler sees it; in the twin folders.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cstdint>

namespace mixstack::helper {

struct TrappedCall {
  long number = 0;
  std::array<std::uint64_t, 4> arguments{};
};

/// Async-signal-safe, both.
[[nodiscard]] TrappedCall trapped_call(const siginfo_t& info, const ucontext_t& context);
/// What the call returns: a value, or a negated errno.
void set_result(ucontext_t& context, long result);

}  // namespace mixstack::helper
