// enum perf_event_x86_regs, Linux arch/x86/include/uapi/asm/perf_regs.h.
#pragma once

#include "process/perf/sample_registers.h"

namespace mixstack::perf::x86_64 {

inline constexpr SampleRegisters kSampleRegisters = [] {
  namespace reg = x86_64_reg;
  struct Pair {
    unsigned bit, number;
  };
  constexpr Pair kPairs[] = {{0, reg::rax},  {1, reg::rbx},  {2, reg::rcx},  {3, reg::rdx},  {4, reg::rsi},
                             {5, reg::rdi},  {6, reg::rbp},  {7, reg::rsp},  {8, reg::rip},  {16, reg::r8},
                             {17, reg::r9},  {18, reg::r10}, {19, reg::r11}, {20, reg::r12}, {21, reg::r13},
                             {22, reg::r14}, {23, reg::r15}};
  SampleRegisters table;
  for (const Pair& p : kPairs) {
    table.mask |= std::uint64_t{1} << p.bit;
    table.numbers[p.bit] = static_cast<std::uint8_t>(p.number);
  }
  return table;
}();

}  // namespace mixstack::perf::x86_64
