// Which registers a call preserves, by CPU and convention.
#pragma once

#include <cstdint>

#include "mixstack/registers.h"

namespace mixstack::arch {

enum class Convention : std::uint8_t {
  platform_unix,  ///< the CPU's psABI
  platform_windows,
  coreclr_unix,  ///< what CoreCLR's CalleeSavedRegisters structure and contexts hold
  coreclr_windows,
};

/// One bit per DWARF register number; neither pc nor sp. 0 for an unknown CPU.
[[nodiscard]] std::uint64_t callee_saved(Arch arch, Convention convention);

}  // namespace mixstack::arch
