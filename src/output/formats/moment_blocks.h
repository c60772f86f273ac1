// The blocks of a moment's file: docs/formats/moment.md.
#pragma once

#include <cstdint>

#include "output/formats/block_file.h"

namespace mixstack::formats {

inline constexpr unsigned char kMomentMagic[8] = {0x89, 'M', 'X', 'M', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kMomentVersion = 1;

/// Readers skip those of later versions.
enum class MomentBlock : std::uint16_t {
  end = 1,
  mark,
  runtimes,
  account,
  lines,
  arenas,
  unknown,
  managed,
  notes,
  heaps,
  types,
  elements,
  duplicates,
};

}  // namespace mixstack::formats
