// Enlarges the alternate signal stacks of the runtime's threads, so that two handlers fit.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <cstddef>

namespace mixstack::agent {

/// The runtime's handler of SIGSEGV begins on an alternate stack of 12 to 16 KiB and uses up to 8 KiB of it before it
/// switches stacks. The frame of a signal that arrives meanwhile needs up to 4 KiB more (all vector registers); if they
/// do not fit, the kernel kills the process. (The runtime blocks its own signals for that moment, but not ours.) So
/// threads of the runtime get larger stacks, which the runtime unmaps at their end like its own.
class AlternateStacks {
 public:
  static constexpr std::size_t kSize = 64 << 10;  ///< with one guard page, as the runtime's have
  static constexpr std::size_t kMostReplaced = 4096;

  /// Learns the size of the runtime's stacks from the calling thread, if it has one; else from the first runtime
  /// thread.
  AlternateStacks();

  /// Replaces the stack of the calling thread, a runtime thread, outside of signal handlers.
  void enlarge_own();
  /// Replaces the stack of the interrupted thread at once, in a handler that has left the alternate stack. The old one
  /// stays mapped, since a handler that was on it may still use it. Signal-safe: mmap, mprotect; at most
  /// `kMostReplaced` times. `is_runtimes`: the runtime has named the thread as its own.
  void enlarge_interrupted(ucontext_t& context, bool is_runtimes = false) noexcept;

 private:
  [[nodiscard]] bool is_of_runtime(const stack_t& stack) const noexcept;
  [[nodiscard]] static bool map(stack_t& out) noexcept;

  void learn(const stack_t& stack) noexcept;

  std::atomic<std::size_t> runtimes_size_{0};  ///< 0: unknown, so nothing is replaced
  std::atomic<std::size_t> replaced_{0};
};

}  // namespace mixstack::agent
