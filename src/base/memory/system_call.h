// System calls without libc: nothing is looked up, errno stays as it is.
#pragma once

#include <cstdint>

namespace mixstack::memory {

/// Makes a system call of the host. Answers what the kernel does: a negative errno on failure. Signal-safe.
[[nodiscard]] std::int64_t system_call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                                       std::uint64_t d = 0, std::uint64_t e = 0, std::uint64_t f = 0);

}  // namespace mixstack::memory
