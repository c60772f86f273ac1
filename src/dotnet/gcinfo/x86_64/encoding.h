// GC info of x86-64 (AMD64GcInfoEncoding in src/coreclr/inc/gcinfotypes.h).
#pragma once

#include <array>

#include "dotnet/gcinfo/cpu_encoding.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet::gcinfo::x86_64 {

inline constexpr std::array<unsigned, 16> kRegisters = [] {
  using namespace x86_64_reg;
  return std::array<unsigned, 16>{rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15};
}();
inline constexpr GcInfoCpu kEncoding{.base_register_bits = 3,
                                     .safe_point_bits = 2,
                                     .code_shift = 0,
                                     .frame_register = 5,
                                     .register_count_bits = 2,
                                     .registers = kRegisters};

}  // namespace mixstack::dotnet::gcinfo::x86_64
