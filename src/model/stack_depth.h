// How deep the stacks of a recording are.
#pragma once

#include <cstddef>
#include <string>

namespace mixstack {

/// Viewers of recordings recurse, and not all of them as deep as programs do: of a stack that is deeper than this a
/// part of the middle is left out, behind the outermost `kOuterShown` frames. It is a multiple of `kFold`, so that
/// stacks of nearly the same depth share what is shown of them.
inline constexpr std::size_t kMostShown = 4096, kOuterShown = 2048, kFold = 1024;

[[nodiscard]] constexpr std::size_t frames_left_out(std::size_t frames) {
  return frames <= kMostShown ? 0 : (frames - kMostShown + kFold - 1) / kFold * kFold;
}
/// The box that stands for them.
[[nodiscard]] inline std::string left_out_name(std::size_t frames) {
  return "[" + std::to_string(frames) + " frames left out]";
}

}  // namespace mixstack
