// What a thread's stack must look like, kept by the thread itself: each marked function notes its code range.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>

#include "mixstack/address.h"

namespace self_walk_test {

/// Read by a signal handler of the same thread.
class ShadowStack {
 public:
  static constexpr std::size_t kMost = 128;

  void push(mixstack::AddressRange code) {
    ranges_[depth_] = code;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    depth_ = depth_ + 1;
  }
  void pop() {
    depth_ = depth_ - 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  [[nodiscard]] std::size_t depth() const { return depth_; }

  /// Whether the marked functions occur in `walk` (innermost first) in their order. A function notes itself a few
  /// instructions after it begins and until a few before it ends.
  [[nodiscard]] bool matches(std::span<const mixstack::Address> walk) const {
    std::size_t left = depth_;
    for (const mixstack::Address address : walk) {
      if (left == 0) break;
      // A return address may be the first byte behind the function.
      if (ranges_[left - 1].contains(address) || ranges_[left - 1].contains(address - 1)) left--;
    }
    return left == 0;
  }

 private:
  std::array<mixstack::AddressRange, kMost> ranges_{};
  volatile std::size_t depth_ = 0;
};

/// In a marked function.
class Mark {
 public:
  Mark(ShadowStack& stack, mixstack::AddressRange code) : stack_(stack) { stack_.push(code); }
  ~Mark() { stack_.pop(); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  ShadowStack& stack_;
};

}  // namespace self_walk_test
