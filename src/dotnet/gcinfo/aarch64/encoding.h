// GC info of AArch64 (ARM64GcInfoEncoding in src/coreclr/inc/gcinfotypes.h).
#pragma once

#include <array>

#include "dotnet/gcinfo/cpu_encoding.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet::gcinfo::aarch64 {

/// x0 to x30, and the stack pointer.
inline constexpr auto kRegisters = [] {
  std::array<unsigned, aarch64_reg::sp + 1> all{};
  for (unsigned i = 0; i < all.size(); i++) all[i] = i;
  return all;
}();
inline constexpr GcInfoCpu kEncoding{.base_register_bits = 2,
                                     .safe_point_bits = 3,
                                     .code_shift = 2,
                                     .frame_register = aarch64_reg::fp,
                                     .has_fixed_edit_frame = true,
                                     .register_count_bits = 3,
                                     .registers = kRegisters};

}  // namespace mixstack::dotnet::gcinfo::aarch64
