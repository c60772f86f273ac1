// enum perf_event_arm_regs, Linux arch/arm64/include/uapi/asm/perf_regs.h.
#pragma once

#include "process/perf/sample_registers.h"

namespace mixstack::perf::aarch64 {

inline constexpr SampleRegisters kSampleRegisters = [] {
  namespace reg = aarch64_reg;
  SampleRegisters table;
  // x0 to x29, lr, sp and pc are numbered alike.
  for (unsigned bit = 0; bit <= reg::pc; bit++) {
    table.mask |= std::uint64_t{1} << bit;
    table.numbers[bit] = static_cast<std::uint8_t>(bit);
  }
  constexpr unsigned kVectorGranule = 46;  // PERF_REG_ARM64_VG: only on CPUs with SVE
  table.optional = std::uint64_t{1} << kVectorGranule;
  table.numbers[kVectorGranule] = static_cast<std::uint8_t>(reg::vg);
  return table;
}();

}  // namespace mixstack::perf::aarch64
