// Room for the few stacks that are deeper than most.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mixstack/address.h"
#include "self_walk/zeroed_pages.h"

namespace mixstack::agent {

/// As deep as a dump goes, but for one frame: a message counts them in 16 bits.
struct DeepStack {
  static constexpr std::size_t kMostFrames = 0xffff;
  std::array<Address, kMostFrames> addresses;
  std::array<std::uint32_t, kMostFrames> methods;
};

/// Taken in signal handlers, given back by who read it. `take` and `give_back` are signal-safe. 768 KiB each, of which
/// the system gives what stacks were deep enough to fill; it is kept for the next.
class DeepStacks {
 public:
  static constexpr std::size_t kCount = 4;

  DeepStacks();
  /// One that nobody has, or null.
  [[nodiscard]] DeepStack* take() noexcept;
  void give_back(const DeepStack* stack) noexcept;

 private:
  self_walk::ZeroedPages pages_;
  std::array<std::atomic<bool>, kCount> is_taken_{};
};

}  // namespace mixstack::agent
