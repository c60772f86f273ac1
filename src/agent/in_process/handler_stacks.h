// Our own stacks for signal handlers, which may interrupt code with hardly any stack left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mixstack/address.h"

namespace mixstack::agent {

/// A handler begins on the stack it interrupts, or on an alternate stack that others sized for their own needs. It
/// switches to one of these at once, so that it needs less than 1 KiB there. At most kCount threads can use one at a
/// time. `take` and `give_back` are signal-safe.
class HandlerStacks {
 public:
  static constexpr std::size_t kCount = 64;
  static constexpr std::size_t kSize = 32 << 10;  ///< with one guard page; SelfWalker needs 10 KiB at most

  HandlerStacks();
  ~HandlerStacks();
  HandlerStacks(const HandlerStacks&) = delete;
  HandlerStacks& operator=(const HandlerStacks&) = delete;
  [[nodiscard]] bool is_usable() const { return memory_ != nullptr; }

  /// The upper end of a free stack, or null.
  [[nodiscard]] void* take() noexcept;
  void give_back(void* end) noexcept;

 private:
  std::byte* memory_ = nullptr;
  std::atomic<std::uint64_t> used_{0};  ///< one bit per stack
};

}  // namespace mixstack::agent
