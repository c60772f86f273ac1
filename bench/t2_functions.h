// T2, the native program whose stacks the unwind benchmarks walk: 1024 functions, half of them in the executable and
// half in a shared library, with frames of different sizes and different sets of saved registers. A path says which
// function calls which; the last one calls `bottom`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace t2 {

struct Run;
using Function = long (*)(Run&, std::size_t level);

struct Run {
  const std::uint16_t* path = nullptr;  ///< indexes into `functions`
  std::size_t depth = 0;
  const Function* functions = nullptr;
  void (*bottom)(Run&) = nullptr;
  void* bottom_data = nullptr;
  volatile long seeds[6] = {3, 1, 4, 1, 5, 9};
};

inline constexpr std::size_t kFunctionsPerHalf = 512;
inline constexpr std::size_t kFunctions = 2 * kFunctionsPerHalf;
inline constexpr std::size_t kDepth = 30;

/// N % 6 values stay live across the call (callee-saved registers), N decides the size of the locals.
template <std::size_t N>
[[gnu::noinline]] long function(Run& run, std::size_t level) {
  constexpr std::size_t kLive = N % 6;
  std::array<long, kLive + 1> live{};
  for (std::size_t i = 0; i < kLive; i++) live[i] = run.seeds[i] + static_cast<long>(N);
  volatile unsigned char locals[24 + N * 29 % 176];
  locals[N % 24] = static_cast<unsigned char>(level);
  long result = 0;
  if (level == run.depth) {
    run.bottom(run);
  } else {
    result = run.functions[run.path[level]](run, level + 1);
  }
  for (std::size_t i = 0; i < kLive; i++) result = result * 31 + live[i];
  return result + locals[N % 24];
}

/// The half that lies in the shared library.
void library_functions(Function* out);

}  // namespace t2
