#include "base/memory/system_call.h"

namespace mixstack::memory {

// Registers: syscall(2), "Architecture calling conventions", arm64.
std::int64_t system_call(long number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                         std::uint64_t e, std::uint64_t f) {
  register std::uint64_t x8 asm("x8") = static_cast<std::uint64_t>(number);
  register std::uint64_t x0 asm("x0") = a;
  register std::uint64_t x1 asm("x1") = b;
  register std::uint64_t x2 asm("x2") = c;
  register std::uint64_t x3 asm("x3") = d;
  register std::uint64_t x4 asm("x4") = e;
  register std::uint64_t x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return static_cast<std::int64_t>(x0);
}

}  // namespace mixstack::memory
