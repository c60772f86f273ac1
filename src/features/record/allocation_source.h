// Samples of threads that allocate, weighted by bytes: nothing is stopped, and no code is changed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/system/scoped_fd.h"
#include "features/record/allocation_windows.h"
#include "features/record/real_time_turn.h"
#include "features/record/sample_source.h"
#include "features/record/shared_recording.h"
#include "features/record/stack_blocks.h"
#include "features/record/stack_ends.h"
#include "process/live/proc_dir.h"
#include "process/perf/write_watch.h"

namespace mixstack::record {

class AllocationSource final : public SampleSource {
 public:
  static constexpr std::size_t kMostWatched = 128;  ///< threads, those with most bytes

  /// Errors: unsupported (no runtime, or one that does not tell where threads allocate), those of WriteWatch::open.
  [[nodiscard]] static Result<std::unique_ptr<AllocationSource>> open(std::shared_ptr<SharedSession> session);

  void begin(std::uint64_t now_ns) override;
  [[nodiscard]] Result<SampleBatch> next(const std::stop_token& stop) override;
  [[nodiscard]] SampleBatch rest() override;
  [[nodiscard]] SourceAccount account() const override;
  [[nodiscard]] std::string words() const override;

 private:
  /// One of the words that are watched: the limit of a thread's room for small objects, or its bytes of large ones.
  struct Word {
    ByteLedger ledger;
    double rate = 0;                ///< of hits a second, if it is not watched
    perf::WriteWatch::Counts last;  ///< when it was last looked at
    double length = 0;              ///< of the next window, ns of the thread's own time
    bool is_on = false;             ///< all the time
    std::uint64_t opened_ns = 0;    ///< the last window
    std::uint64_t gap_ns = 0;       ///< from the window before to this one
    std::uint32_t hits = 0;         ///< of this round
    std::uint64_t hit_ns = 0;       ///< the last one; 0: none in this round
    std::vector<double> between;    ///< ns from hit to hit in this round
    std::uint32_t counted = 0;      ///< of these: in the window's own time
  };
  struct Thread {
    ThreadId tid = 0;  ///< 0: not found
    Address limit_at = 0, large_at = 0;
    std::optional<perf::WriteWatch> watch;
    bool is_refused = false;
    Word words[2];                   ///< small, large
    std::uint64_t allocated_ns = 0;  ///< when it last allocated
    std::uint64_t cpu_ns = 0;        ///< processor time, if it allocates much
    double cpu_share = 1;
    std::uint64_t round = 0;  ///< in which it was last listed
    std::string comm;
    [[nodiscard]] std::size_t watched() const { return watch ? watch->words() : 0; }
  };
  using Collections = std::vector<std::optional<std::uint64_t>>;
  using Key = std::pair<std::uint64_t, std::uint32_t>;  ///< the runtime's Thread, the system's number
  /// A sample until its weight is known.
  struct Hit {
    Thread* thread = nullptr;
    std::size_t word = 0, at = 0;  ///< place in the batch
    double events = 1;
  };
  /// One look at the counters.
  struct Look {
    std::vector<AllocatedBytes> threads;
    std::uint64_t at_ns = 0;
  };

  AllocationSource(std::shared_ptr<SharedSession> session, process::ProcDir proc, base::ScopedFd folder);
  [[nodiscard]] Result<Look> look();
  void note(const Look& now, SampleBatch& batch);
  [[nodiscard]] ThreadId tid_of(std::uint32_t os_id);
  void choose();
  [[nodiscard]] Result<void> watch(Thread& thread);
  void watch_windows(SampleBatch& batch, const std::stop_token& stop);
  void begin_round();
  void read_hits(Thread& thread, SampleBatch& batch);
  void add_hit(Thread& thread, std::size_t word, const perf::PerfSample& sample, SampleBatch& batch);
  void measure(Thread& thread, std::uint64_t passed_ns) const;
  void count_hits();
  void weigh(SampleBatch& batch);
  void name_types(SampleBatch& batch, const Collections& before);
  [[nodiscard]] std::uint64_t look_at_window(Thread& thread, std::size_t word, SampleBatch& batch);
  void forget(Thread& thread, SampleBatch& batch);

  std::shared_ptr<SharedSession> session_;
  process::ProcDir proc_;
  base::ScopedFd folder_;  ///< /proc/PID
  Arch arch_;
  std::map<Key, Thread> threads_;
  std::unordered_map<std::uint32_t, ThreadId> tids_;  ///< by number in the target's namespace, if that is another one
  std::vector<Hit> hits_;
  std::vector<NewObject> objects_;  ///< of `hits_`
  HitCost cost_;
  WindowRule rule_;
  StackBlocks stacks_;
  StackEnds ends_;
  RealTimeTurn turn_;
  std::minstd_rand random_{static_cast<std::uint32_t>(monotonic_ns())};
  std::uint64_t begin_ns_ = 0;  ///< 0: warming up
  std::uint64_t next_ns_ = 0, noted_ns_ = 0, round_ = 0;
  std::uint64_t lost_ = 0;
  std::uint32_t calm_rounds_ = 0;
  std::size_t wanted_ = 0;                  ///< threads to be watched
  Collections last_collections_;            ///< right before the windows of the last round
  std::atomic<std::uint32_t> cost_ns_ = 0;  ///< of a hit; 0: not measured
  std::atomic<std::uint32_t> refused_ = 0;  ///< threads whose debug registers were taken; for `words`, in any thread
};

}  // namespace mixstack::record
