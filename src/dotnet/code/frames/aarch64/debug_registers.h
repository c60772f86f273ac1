// How debug information numbers registers: ARM64 (ICorDebugInfo::RegNum in src/coreclr/inc/cordebuginfo.h).
#pragma once

#include <array>

#include "mixstack/registers.h"

namespace mixstack::dotnet::frames::aarch64 {

/// psABI numbers by those of debug information: X0 to X28, FP, LR, SP are numbered alike; vector registers come behind.
inline constexpr std::array<unsigned, 32> kDebugRegisters = [] {
  std::array<unsigned, 32> same{};
  for (unsigned i = 0; i < same.size(); i++) same[i] = i;
  return same;
}();

}  // namespace mixstack::dotnet::frames::aarch64
