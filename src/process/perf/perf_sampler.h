// Samples of all threads of a process by perf events: nothing is stopped, nothing is written to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "process/perf/perf_event.h"
#include "process/perf/perf_record.h"
#include "process/perf/perf_ring.h"

namespace mixstack::perf {

/// Records younger than this may not be visible yet: one interrupt lies between taking a record's time and publishing
/// it.
inline constexpr std::uint64_t kSettleNs = 2'000'000;

/// Receives samples and notices. The bytes that they borrow are valid during the call only.
class PerfVisitor {
 public:
  virtual ~PerfVisitor() = default;
  virtual void sample(const PerfSample& sample) = 0;
  virtual void notice(const PerfNotice& notice) = 0;
};

/// How threads that begin later are sampled.
enum class Following : std::uint8_t {
  by_events,  ///< from their first instruction: they inherit the events, one for each processor
  by_proc,    ///< from the next `follow_threads` on: so many events were not allowed to be open
};

/// One process being sampled. Not thread-safe. The kernel samples on by itself; what does not fit into the rings until
/// the next `drain` is lost, and counted.
class PerfSampler {
 public:
  /// Events of all threads, not counting yet. `arch` is the process's and the machine's. Errors: those of `open_event`
  /// (limit_exceeded: `value` files would be enough; permission_denied, unsupported ...: `explain_perf_refusal` says
  /// more) and PerfRing::map, no_such_process, unsupported_cpu, invalid_argument (no rate).
  [[nodiscard]] static Result<PerfSampler> open(std::uint32_t pid, Arch arch, const PerfOptions& options);

  void start();
  /// Stops the events. Samples taken until now can still be drained.
  void stop();
  /// Begins to sample threads that are not sampled yet: to be called every now and then with `Following::by_proc`.
  /// Answers how many were added.
  std::size_t follow_threads();

  enum class Until : std::uint8_t {
    settled,  ///< leaves what is so new that an older record may come yet, from another processor
    empty,    ///< after `stop`
  };
  /// Hands out at most `most` records in the order of their time. Answers how many.
  std::size_t drain(PerfVisitor& visitor, std::size_t most, Until until = Until::settled);
  /// Waits until a ring is a quarter full, or for so long. `wait_fd` is readable then, for those who wait for more.
  void wait(std::chrono::milliseconds most);
  [[nodiscard]] int wait_fd() const { return epoll_.get(); }

  /// Records that had no room. Reads the kernel's counters, one for each event.
  [[nodiscard]] std::uint64_t lost() const;
  /// Records that could not be decoded; a correct kernel writes none.
  [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }
  [[nodiscard]] Following following() const { return following_; }
  [[nodiscard]] std::uint32_t hertz() const { return options_.hertz; }
  /// False: time in the kernel is not sampled, since we may not.
  [[nodiscard]] bool counts_kernel() const { return plan_.counts_kernel; }
  [[nodiscard]] bool has_kernel_chains() const { return plan_.kernel_chain; }
  [[nodiscard]] std::size_t events() const { return events_.size(); }
  [[nodiscard]] std::size_t ring_bytes() const;
  /// Bytes of one ring, if it is smaller than wanted because no more may be locked. 0: it is not.
  [[nodiscard]] std::size_t short_ring_bytes() const;
  /// A text for people: "hardware cycles, user and kernel time". It does not tell the rate.
  [[nodiscard]] std::string what() const;

 private:
  struct Event {
    base::ScopedFd fd;
    std::uint64_t id = 0;
  };
  explicit PerfSampler(std::uint32_t pid, const PerfOptions& options) : pid_(pid), options_(options) {}
  [[nodiscard]] Result<void> settle_plan(Arch arch, const std::vector<ThreadId>& threads);
  [[nodiscard]] Result<void> open_all();
  [[nodiscard]] Result<void> open_thread(ThreadId tid);
  [[nodiscard]] Result<int> add_event(ThreadId tid, int cpu);
  void drop_last_event();
  [[nodiscard]] Result<void> add_ring(int event);
  [[nodiscard]] Result<void> open_listed(std::vector<ThreadId> threads);
  void use_by_proc();
  void close_all();
  void close_ended();
  [[nodiscard]] std::uint64_t lost_of(const Event& event) const;
  void visit(std::span<const std::byte> record, PerfVisitor& visitor);
  [[nodiscard]] bool is_repeated(const RecordOrigin& origin) const;
  void note(const PerfNotice& notice, const RecordOrigin& origin);

  std::uint32_t pid_ = 0;
  PerfOptions options_;
  EventPlan plan_;
  Following following_ = Following::by_events;
  RecordShape shape_;
  perf_event_attr attributes_{};
  std::size_t wanted_ring_bytes_ = 0, least_ring_bytes_ = 0;
  bool is_ring_refused_ = false;
  std::vector<int> cpus_;
  std::uint64_t end_of_files_ = 0;  ///< numbers of our events are below it
  base::ScopedFd epoll_;
  std::vector<Event> events_;
  std::vector<PerfRing> rings_;
  std::vector<int> ring_owners_;  ///< the events whose rings they are
  bool is_started_ = false;
  RecordReader reader_;
  std::unordered_set<ThreadId> opened_;  ///< threads with events of their own
  /// By event, the thread that it was opened for; by thread, the one whose events it has. A thread that began while we
  /// opened its maker's events inherits some of them beside its own, and would be sampled twice.
  std::unordered_map<std::uint64_t, ThreadId> source_of_event_;
  std::unordered_map<ThreadId, ThreadId> source_of_thread_;
  std::unordered_set<std::uint64_t> ended_;  ///< events of threads that have ended; only with `Following::by_proc`
  std::uint64_t lost_noticed_ = 0, lost_by_ended_ = 0;
  std::uint64_t unreadable_ = 0;
};

}  // namespace mixstack::perf
