// Samples the threads of our own process: signals, the walk in their handler, and the thread that takes the results.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "agent/in_process/agent_thread.h"
#include "agent/in_process/alternate_stack.h"
#include "agent/in_process/cpu_budget.h"
#include "agent/in_process/handler_stacks.h"
#include "agent/in_process/known_code.h"
#include "agent/in_process/options.h"
#include "agent/in_process/progress.h"
#include "agent/in_process/repeated_calls.h"
#include "agent/in_process/runtime_frames.h"
#include "agent/in_process/sample_ring.h"
#include "agent/in_process/standing_threads.h"
#include "agent/in_process/thread_timers.h"
#include "agent/in_process/wall_rounds.h"
#include "mixstack/self_walk.h"

namespace mixstack::agent {

/// Samples by SIGPROF: each thread once per period of its CPU time (ThreadTimers), and some threads per tick of wall
/// time. The handler walks the stack into a ring; a thread of our own takes it out and passes it on.
///
/// One at a time in a process, since signal handlers get no argument of ours. Signals that are not ours are counted and
/// dropped. At the end the previous handler of SIGPROF is restored. If there was none, ours stays and does nothing: a
/// signal may still be pending, the default action would kill the process, and SIG_IGN would be inherited by programs
/// that the process executes.
class Sampler {
 public:
  struct Hooks {
    std::function<void(const Sample&)> sample;  ///< each one, on the thread of the sampler
    std::function<bool(std::uint32_t)> repeat;  ///< counts a thread's last sample once more; false: none is kept
    std::function<void()> pause;                ///< when the ring is empty
  };
  struct Account {
    std::uint64_t lost = 0, postponed = 0, missed = 0, foreign = 0;
    std::size_t threads = 0, untimed = 0, ring_bytes = 0;
  };

  /// `code`, `frames` and `own` must outlive the sampler. Errors: limit_exceeded (no memory), those of
  /// SelfWalker::create.
  [[nodiscard]] static Result<std::unique_ptr<Sampler>> create(KnownCode& code, const RuntimeFrames& frames,
                                                               UnsampledThreads& own, const AgentOptions& options,
                                                               Hooks hooks);
  /// Only after `end`.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Installs the handler; call `make_room` and `begin` afterwards. Errors: io_error (sigaction failed).
  [[nodiscard]] Result<void> take_signal();
  /// Makes existing threads replace their alternate stacks, each in a handler of ours. The runtime must be stopped, so
  /// that none of them is in a handler on that stack. Waits kRoomTime at most; returns how many of the signalled
  /// threads did not do it.
  std::size_t make_room(std::span<const std::uint32_t> tids);
  /// Starts the sampling thread. Errors: limit_exceeded (no thread). Call `end` then, too.
  [[nodiscard]] Result<void> begin();
  /// Stops timers, waits for handlers and our thread, passes on all samples. False: a handler or our thread did not end
  /// in time; keep all memory that they use. Call it once, also where `take_signal` or `begin` failed.
  [[nodiscard]] bool end();

  /// A thread of the process began. Thread-safe.
  void thread_began(std::uint32_t tid);
  /// Thread-safe.
  [[nodiscard]] Account account() const;

  /// In a forked child, which has none of our threads and timers.
  static void forget_after_fork();

 private:
  using Clock = std::chrono::steady_clock;

  Sampler(KnownCode& code, UnsampledThreads& own, const AgentOptions& options, Hooks hooks);
  static void on_signal(int, siginfo_t* info, void* context) noexcept;
  struct Signal;
  static void take_apart(void* signal) noexcept;
  void take(const Signal& signal) noexcept;
  void walk(const Signal& signal, Sample& sample) noexcept;
  void walk_into(const Signal& signal, Sample& sample, std::span<Address> addresses,
                 std::span<std::uint32_t> methods) noexcept;
  void run();
  void give_signal_back() const;
  void look_at_threads();
  void tick(Clock::time_point now);
  [[nodiscard]] bool begins_to_stand(std::uint32_t tid, std::uint64_t runs);
  /// `repeats`: a system call that the signal interrupts is repeated.
  [[nodiscard]] bool send(std::uint32_t tid, std::uintptr_t what, bool repeats);
  void drain();

  // State for handlers, which get no argument of ours.
  static std::atomic<Sampler*> in_use_;
  static std::atomic<std::uint32_t> inside_;  ///< running handlers

  KnownCode& code_;
  UnsampledThreads& own_;
  const AgentOptions options_;
  const Hooks hooks_;
  const std::uint32_t pid_;
  std::unique_ptr<SelfWalker> walker_;
  SampleRing ring_;
  DeepStacks deep_;
  AlternateStacks alternate_stacks_;
  HandlerStacks stacks_;
  Progress progress_;
  RepeatedCalls calls_;
  std::optional<ThreadTimers> timers_;
  bool has_relay_ = false;
  std::atomic<bool> has_begun_{false};  ///< no timers before this: their signal might have no handler
  struct sigaction before_ {};          ///< the previous action of SIGPROF
  std::atomic<std::uint64_t> foreign_{0}, postponed_{0}, missed_{0};
  std::atomic<std::size_t> with_room_{0};  ///< handlers of `make_room` that have ended

  // Used by the thread alone.
  WallRounds rounds_;
  StandingThreads standing_;
  CpuBudget budget_;
  Clock::time_point next_tick_, next_look_, next_refresh_;

  std::mutex mutex_;
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::unique_ptr<AgentThread> thread_;
};

}  // namespace mixstack::agent
