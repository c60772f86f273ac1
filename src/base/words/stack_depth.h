// How deep the stacks of a recording are.
#pragma once

#include <cstddef>
#include <string>

namespace mixstack {

/// Viewers of recordings recurse, and some less deeply than programs do. Stacks deeper than kMostShown leave out a part
/// of the middle, after the outermost `kOuterShown` frames. That part is a multiple of `kFold`, so that stacks of
/// nearly the same depth share their shown frames.
inline constexpr std::size_t kMostShown = 4096, kOuterShown = 2048, kFold = 1024;

[[nodiscard]] constexpr std::size_t frames_left_out(std::size_t frames) {
  return frames <= kMostShown ? 0 : (frames - kMostShown + kFold - 1) / kFold * kFold;
}
/// The name of the box that stands for them.
[[nodiscard]] inline std::string left_out_name(std::size_t frames) {
  return "[" + std::to_string(frames) + " frames left out]";
}

}  // namespace mixstack
