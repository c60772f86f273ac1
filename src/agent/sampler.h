// Samples of the threads of our own process: signals, the walk in their handler, and the thread that takes the results.
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

#include "agent/agent_thread.h"
#include "agent/alternate_stack.h"
#include "agent/cpu_budget.h"
#include "agent/handler_stacks.h"
#include "agent/known_code.h"
#include "agent/options.h"
#include "agent/progress.h"
#include "agent/repeated_calls.h"
#include "agent/runtime_frames.h"
#include "agent/sample_ring.h"
#include "agent/standing_threads.h"
#include "agent/thread_timers.h"
#include "agent/wall_rounds.h"
#include "mixstack/self_walk.h"

namespace mixstack::agent {

/// Samples by SIGPROF: of each thread per period of its CPU time (ThreadTimers), and of some threads per tick of wall
/// time. The handler walks and puts the stack into a ring; a thread of our own takes it out and hands it on.
///
/// One at a time in a process, since signal handlers get no argument of ours. Signals that are not ours are counted and
/// dropped. At the end a handler that was there before gets SIGPROF back. Where none was, ours stays and does nothing:
/// a signal may still be on its way, the default would kill the process, and that it is ignored would be inherited by
/// programs that the process runs.
class Sampler {
 public:
  struct Hooks {
    std::function<void(const Sample&)> sample;  ///< each one, on the thread of the sampler
    std::function<bool(std::uint32_t)> repeat;  ///< a thread's last sample once more; false: it is not kept
    std::function<void()> pause;                ///< when there are none left for now
  };
  struct Account {
    std::uint64_t lost = 0, postponed = 0, missed = 0, foreign = 0;
    std::size_t threads = 0, untimed = 0, ring_bytes = 0;
  };

  /// `code`, `frames` and `own` must outlive the sampler. Errors: limit_exceeded (no memory), those of
  /// SelfWalker::create.
  [[nodiscard]] static Result<std::unique_ptr<Sampler>> create(KnownCode& code, const RuntimeFrames& frames,
                                                               OwnThreads& own, const AgentOptions& options,
                                                               Hooks hooks);
  /// After `end`.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Takes the signal: from here on `make_room`, then `begin`. Errors: io_error (no action for the signal).
  [[nodiscard]] Result<void> take_signal();
  /// Has threads that were there before exchange their alternate stacks in a handler of ours. The runtime must be
  /// stopped, so that none of them is in a handler on that stack. Waits a quarter of a second at most, and answers how
  /// many did not come to it.
  std::size_t make_room(std::span<const std::uint32_t> tids);
  /// Errors: limit_exceeded (no thread).
  [[nodiscard]] Result<void> begin();
  /// Timers off, handlers gone, all that was sampled handed on. False: a handler or our thread did not end in time, and
  /// nothing that they use may be given back. Called once.
  [[nodiscard]] bool end();

  /// A thread of the process began. Thread-safe.
  void thread_began(std::uint32_t tid);
  /// Thread-safe.
  [[nodiscard]] Account account() const;

  /// In a child made by fork, where our threads and timers are not.
  static void forget_after_fork();

 private:
  using Clock = std::chrono::steady_clock;

  Sampler(KnownCode& code, OwnThreads& own, const AgentOptions& options, Hooks hooks);
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
  /// `repeats`: a wait that the signal cuts short is made again.
  [[nodiscard]] bool send(std::uint32_t tid, std::uintptr_t what, bool repeats);
  void drain();

  // For handlers, which get no argument of ours.
  static std::atomic<Sampler*> in_use_;
  static std::atomic<std::uint32_t> inside_;  ///< handlers that run

  KnownCode& code_;
  OwnThreads& own_;
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
  std::atomic<bool> has_begun_{false};  ///< before, a timer's signal would have no handler
  struct sigaction before_ {};          ///< whose SIGPROF was
  std::atomic<std::uint64_t> foreign_{0}, postponed_{0}, missed_{0};
  std::atomic<std::size_t> with_room_{0};  ///< handlers of `make_room` that have ended

  // The thread's.
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
