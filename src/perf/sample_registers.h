// Which registers the kernel puts into a sample, and what they are called here.
#pragma once

#include <array>
#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::perf {

/// Bits of perf_event_attr.sample_regs_user of one CPU.
struct SampleRegisters {
  std::uint64_t mask = 0;                  ///< asked for; 0: nobody looked them up
  std::uint64_t optional = 0;              ///< asked for, too, where the kernel knows them
  std::array<std::uint8_t, 64> numbers{};  ///< by bit: our number
};

[[nodiscard]] const SampleRegisters& sample_registers(Arch arch);

}  // namespace mixstack::perf
