// Samples of threads that are not on a CPU, by a BPF program in the kernel: nothing is stopped.
#pragma once

#include <memory>
#include <unordered_map>

#include "features/record/real_time_turn.h"
#include "features/record/round_clock.h"
#include "features/record/run_balance.h"
#include "features/record/sample_source.h"
#include "features/record/stack_blocks.h"
#include "process/bpf/task_iterator.h"

namespace mixstack::record {

/// Rounds at a rate; threads on a CPU are left to another source.
class IteratorSource final : public SampleSource {
 public:
  /// Errors: those of TaskIterator::open.
  [[nodiscard]] static Result<std::unique_ptr<IteratorSource>> open(std::uint32_t pid, Arch arch, std::uint32_t hertz,
                                                                    bool kernel);
  void begin(std::uint64_t now_ns) override;
  [[nodiscard]] Result<SampleBatch> next(const std::stop_token& stop) override;
  [[nodiscard]] SourceAccount account() const override;
  [[nodiscard]] std::string words() const override { return "a BPF iterator over threads that wait"; }

 private:
  struct Seen {
    std::uint32_t round = 0;  ///< last full round that reported it
    RunBalance balance;
  };
  IteratorSource(Arch arch, std::uint32_t hertz, bpf::TaskIterator iterator);
  [[nodiscard]] Activity note(const bpf::ThreadState& state, std::uint64_t now);
  void take(const bpf::ThreadState& state, Activity activity, std::uint64_t now, SampleBatch& batch);
  void add(const bpf::ThreadState& state, Activity activity, std::uint64_t now, SampleBatch& batch);
  void find_ended(SampleBatch& batch);
  [[nodiscard]] Result<void> look_again(std::uint64_t now, SampleBatch& batch);

  Arch arch_;
  std::uint32_t hertz_;
  bpf::TaskIterator iterator_;
  RoundClock clock_;
  StackBlocks stacks_;
  std::uint64_t due_ns_;
  std::uint32_t round_ = 0;    ///< full rounds: those that report every thread
  std::uint64_t last_ns_ = 0;  ///< time of the last round
  std::size_t last_samples_ = 0;
  RealTimeTurn turn_;
  bool has_begun_ = false;         ///< from then on `next` is called by one thread only
  std::uint64_t last_cpu_ns_ = 0;  ///< CPU time of the last round
  std::unordered_map<ThreadId, Seen> seen_;
  std::vector<ThreadId> busy_;  ///< threads of this round whose stacks could not be copied
  SourceAccount account_;
};

}  // namespace mixstack::record
