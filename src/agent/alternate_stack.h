// Room for two handlers on the alternate signal stacks that the runtime gives its threads.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <cstddef>

namespace mixstack::agent {

/// The runtime's handler of SIGSEGV begins on an alternate stack of 12 to 16 KiB and uses up to 8 of it before it goes
/// on elsewhere. A signal that comes meanwhile takes up to 4 more (all vector registers), and where they are not left
/// the kernel ends the process. (The runtime holds its own signals up for that moment, and cannot know of ours.) So
/// threads of the runtime get larger ones, which the runtime unmaps when they end as it would its own.
class AlternateStacks {
 public:
  static constexpr std::size_t kSize = 64 << 10;  ///< one page of it a guard, as the runtime's have
  static constexpr std::size_t kMostReplaced = 4096;

  /// Stacks of the size of the calling thread's, if it has one, are the runtime's. Else the first thread of the runtime
  /// tells.
  AlternateStacks();

  /// The calling thread's, one of the runtime, outside of signal handlers.
  void enlarge_own();
  /// The thread's that was interrupted, in a handler that has left the alternate stack: it has the larger one at once.
  /// The former stays mapped, since a handler that was on it may still need what is there. Signal-safe: mmap, mprotect,
  /// for `kMostReplaced` threads at most. `is_runtimes`: a thread that the runtime has named.
  void enlarge_interrupted(ucontext_t& context, bool is_runtimes = false) noexcept;

 private:
  [[nodiscard]] bool is_of_runtime(const stack_t& stack) const noexcept;
  [[nodiscard]] static bool map(stack_t& out) noexcept;

  void learn(const stack_t& stack) noexcept;

  std::atomic<std::size_t> runtimes_size_{0};  ///< 0: not known, and nothing is replaced
  std::atomic<std::size_t> replaced_{0};
};

}  // namespace mixstack::agent
