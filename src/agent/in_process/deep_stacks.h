// Memory for the few stacks that do not fit into a Sample.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/self_walk/zeroed_pages.h"
#include "mixstack/address.h"

namespace mixstack::agent {

/// As many frames as a dump has, less one: a message counts frames in 16 bits.
struct DeepStack {
  static constexpr std::size_t kMostFrames = 0xffff;
  std::array<Address, kMostFrames> addresses;
  std::array<std::uint32_t, kMostFrames> methods;
};

/// Taken in signal handlers, given back by the reader. `take` and `give_back` are signal-safe. 768 KiB each; only pages
/// that deep stacks touched are present, and they stay for the next ones.
class DeepStacks {
 public:
  static constexpr std::size_t kCount = 4;

  DeepStacks();
  /// A free one, or null.
  [[nodiscard]] DeepStack* take() noexcept;
  void give_back(const DeepStack* stack) noexcept;

 private:
  self_walk::ZeroedPages pages_;
  std::array<std::atomic<bool>, kCount> is_taken_{};
};

}  // namespace mixstack::agent
