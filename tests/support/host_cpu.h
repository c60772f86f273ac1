// The CPU the tests run on, for those that look at themselves.
#pragma once

#include <sys/syscall.h>

#include "mixstack/registers.h"

namespace mixstack::test {

#if defined(__aarch64__)
inline constexpr Arch kHostCpu = Arch::aarch64;
// What pause() and vfork() of the C library call there.
inline constexpr long kPauseCall = SYS_ppoll, kVforkCall = SYS_clone;
inline constexpr const char* kVdsoClock = "__kernel_clock_gettime";
#define MIXSTACK_HOST_LIBRARIES "/lib/aarch64-linux-gnu"
#else
inline constexpr Arch kHostCpu = Arch::x86_64;
inline constexpr long kPauseCall = SYS_pause, kVforkCall = SYS_vfork;
inline constexpr const char* kVdsoClock = "__vdso_clock_gettime";
#define MIXSTACK_HOST_LIBRARIES "/lib/x86_64-linux-gnu"
#endif

// Debian's folder of libraries.
inline constexpr const char* kLibc = MIXSTACK_HOST_LIBRARIES "/libc.so.6";
inline constexpr const char* kLibstdcxx = MIXSTACK_HOST_LIBRARIES "/libstdc++.so.6";
inline constexpr const char* kLibm = MIXSTACK_HOST_LIBRARIES "/libm.so.6";
inline constexpr const char* kLibgcc = MIXSTACK_HOST_LIBRARIES "/libgcc_s.so.1";
inline constexpr const char* kLibdl = MIXSTACK_HOST_LIBRARIES "/libdl.so.2";
#undef MIXSTACK_HOST_LIBRARIES

}  // namespace mixstack::test
