// Stacks of our own for signal handlers, which may be called where there is next to no room.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mixstack/address.h"

namespace mixstack::agent {

/// A handler is called on whatever stack it interrupts, or on an alternate one that others made, for needs of their
/// own. It leaves that at once for one of these, so that it needs there less than 1 KiB. As many threads may be in
/// handlers at a time as there are stacks. `take` and `give_back` are signal-safe.
class HandlerStacks {
 public:
  static constexpr std::size_t kCount = 64;
  static constexpr std::size_t kSize = 32 << 10;  ///< one page of it a guard; SelfWalker needs 10 KiB at most

  HandlerStacks();
  ~HandlerStacks();
  HandlerStacks(const HandlerStacks&) = delete;
  HandlerStacks& operator=(const HandlerStacks&) = delete;
  [[nodiscard]] bool is_usable() const { return memory_ != nullptr; }

  /// Where one ends that is free, or null.
  [[nodiscard]] void* take() noexcept;
  void give_back(void* end) noexcept;

 private:
  std::byte* memory_ = nullptr;
  std::atomic<std::uint64_t> used_{0};  ///< a bit for each
};

}  // namespace mixstack::agent
