// The differences of GC info between CPUs.
#pragma once

#include <cstdint>
#include <span>

namespace mixstack::dotnet {

struct GcInfoCpu {
  unsigned base_register_bits = 0;   ///< of the first group of its number
  unsigned safe_point_bits = 0;      ///< of their count
  unsigned code_shift = 0;           ///< offsets in code count instructions
  std::uint32_t frame_register = 0;  ///< is written as 0 (exclusive or)
  bool has_fixed_edit_frame = false;
  unsigned register_count_bits = 0;     ///< of the number of slots that are registers
  std::span<const unsigned> registers;  ///< psABI numbers, by those of the machine's instructions
};

}  // namespace mixstack::dotnet
