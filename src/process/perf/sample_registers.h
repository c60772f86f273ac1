// The registers that the kernel puts into a sample, and our numbers for them.
#pragma once

#include <array>
#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::perf {

/// Bits of perf_event_attr.sample_regs_user of one CPU.
struct SampleRegisters {
  std::uint64_t mask = 0;                  ///< asked for; 0: not known for this CPU
  std::uint64_t optional = 0;              ///< asked for, too, if the kernel knows them
  std::array<std::uint8_t, 64> numbers{};  ///< by bit: our number
};

[[nodiscard]] const SampleRegisters& sample_registers(Arch arch);

}  // namespace mixstack::perf
