// Causes that make a process slow, as data: concluded by `mixstack why` from counters at two looks, samples and waits.
// A cause has a number, a place in the program and a price; where one of them is not known, the cause says so.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mixstack {

enum class SlowKind : std::uint8_t {
  throttled,    ///< a CPU quota stops it
  crowded,      ///< its threads are ready, and other processes have the processors
  contended,    ///< threads wait for one lock most of the time
  collections,  ///< garbage collections
  memory,       ///< it grows, managed or native
  exceptions,   ///< thrown and caught at once
  writes,       ///< many writes of few bytes
  disk,         ///< threads wait for the disk: fsync and its kin
  children,     ///< programs that it starts
  compiling,    ///< the runtime compiles methods
  page_faults,  ///< the kernel gives it memory
  queue,        ///< work of the thread pool comes faster than its workers, all of which wait, do it
};
inline constexpr std::size_t kSlowKinds = 12;

/// A number of a cause, by a stable name: {"per_second", 20211.0}. docs/automation.md lists them by kind.
using SlowFact = std::pair<std::string, double>;

struct SlowCause {
  SlowKind kind = SlowKind::crowded;
  bool is_certain = false;  ///< proved by counters or by one look; otherwise likely
  bool ends_itself = true;  ///< false: it stays until somebody acts
  double share = 0;         ///< of the time or of the processors it costs, 0 to 1: dearest first by this
  std::string what{};       ///< after the word: "20,211/s, caught at once: System.FormatException"
  std::string place{};      ///< "Shop.Parse(string) in Parse.cs:31"; empty: not known
  std::string place_of{};  ///< what happens there: "thrown", "allocated", "started", "first used"; empty: it runs there
  std::uint64_t place_samples = 0, samples = 0;  ///< of `samples` of this kind, those at `place`
  std::vector<SlowFact> facts{};
  std::vector<std::string> more{};  ///< lines below: other places, threads, files
  std::string next{};               ///< a command of ours that tells more; PID is filled in
  std::string change{};             ///< the usual change in the program
  std::string title{};              ///< "FORCED COLLECTIONS"; empty: the kind's own word
};

/// How a process ran between the first look and the last one. Nothing: not known.
struct Health {
  std::chrono::nanoseconds time{0};
  std::optional<double> processors{};                       ///< that it used
  std::optional<double> ready{};                            ///< threads that could run and had no processor, on average
  std::optional<double> collections{}, full_collections{};  ///< a second
  std::optional<double> pause_share{};                      ///< of the time, 0 to 1
  std::optional<double> pause_ms{};                         ///< of one collection, on average
  std::optional<double> allocated{};                        ///< bytes a second
  std::optional<double> exceptions{}, methods{}, contentions{};  ///< a second: thrown, compiled, waits for monitors
  std::optional<double> compiling{};                             ///< threads that compiled, on average
  std::optional<std::uint64_t> all_methods{};                    ///< compiled since the process began
  std::optional<std::chrono::milliseconds> all_compiling{};
  std::uint32_t lock_waiters = 0;                  ///< threads that waited for a lock at the last look
  std::chrono::milliseconds longest_lock_wait{0};  ///< so long at least one of them has not run
  /// Threads that waited at the last look for the SemaphoreSlim that most of them waited for. It had no place left, and
  /// has no owner: it may guard something, or tell that there is work.
  std::uint32_t semaphore_waiters = 0;
  std::uint32_t all_semaphore_waiters = 0;  ///< threads that waited at the last look for any SemaphoreSlim
  std::optional<std::uint64_t> queued{};    ///< items in queues of thread pools
  bool has_more_queued = false;             ///< more than were counted

  /// Processors that it would use if it had the machine for itself.
  [[nodiscard]] double wanted() const { return processors.value_or(0) + ready.value_or(0); }
};

}  // namespace mixstack
