#include "base/memory/system_call.h"

namespace mixstack::memory {

// Registers: System V AMD64 psABI, appendix A.2.1 "Calling conventions" of the Linux kernel.
std::int64_t system_call(long number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                         std::uint64_t e, std::uint64_t f) {
  register std::uint64_t r10 asm("r10") = d;
  register std::uint64_t r8 asm("r8") = e;
  register std::uint64_t r9 asm("r9") = f;
  std::int64_t result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

}  // namespace mixstack::memory
