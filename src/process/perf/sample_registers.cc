#include "process/perf/sample_registers.h"

#include "base/arch/per_cpu.h"
#include "process/perf/aarch64/sample_registers.h"
#include "process/perf/x86_64/sample_registers.h"

namespace mixstack::perf {

const SampleRegisters& sample_registers(Arch arch) {
  static constexpr arch::PerCpu<SampleRegisters> kTables{.x86_64 = x86_64::kSampleRegisters,
                                                         .aarch64 = aarch64::kSampleRegisters};
  return kTables[arch];
}

}  // namespace mixstack::perf
