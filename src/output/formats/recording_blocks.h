// The layout that writer and reader of recording files share: docs/formats/recording.md.
#pragma once

#include <cstdint>

#include "output/formats/block_file.h"

namespace mixstack::formats {

inline constexpr unsigned char kRecordingMagic[8] = {0x89, 'M', 'X', 'R', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kRecordingVersion = 1;

enum class BlockType : std::uint16_t {
  facts = 1,
  notes,
  processes,
  threads,
  modules,
  files,
  functions,
  frames,
  nodes,
  contexts,
  samples,
  end,
};

}  // namespace mixstack::formats
