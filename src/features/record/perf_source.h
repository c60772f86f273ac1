// Samples of threads that run, by perf events: nothing is stopped.
#pragma once

#include <memory>
#include <random>
#include <unordered_map>

#include "base/system/scoped_fd.h"
#include "features/record/sample_source.h"
#include "features/record/stack_blocks.h"
#include "features/record/stack_ends.h"
#include "process/perf/perf_sampler.h"

namespace mixstack::record {

struct PerfSourceOptions {
  perf::Sampled sampled = perf::Sampled::cpu;
  std::uint64_t period = 0;  ///< as in PerfOptions
  std::uint32_t hertz = 999;
  bool kernel = false;
  SampleClock clock = SampleClock::cpu;  ///< what its samples count for
  bool memory = false;                   ///< samples tell what they did to memory (`SampledThread::memory`)
  std::uint64_t tracepoint = 0;          ///< with Sampled::tracepoint, as in PerfOptions
  std::string filter{};
};

class PerfSource final : public SampleSource, private perf::PerfVisitor {
 public:
  /// Errors: those of PerfSampler::open.
  [[nodiscard]] static Result<std::unique_ptr<PerfSource>> open(std::uint32_t pid, Arch arch,
                                                                const PerfSourceOptions& options);
  void begin(std::uint64_t now_ns) override { begin_ns_ = now_ns; }
  [[nodiscard]] Result<SampleBatch> next(const std::stop_token& stop) override;
  [[nodiscard]] SourceAccount account() const override;
  [[nodiscard]] std::string words() const override;
  /// Whether `SampleBatch::mapped` covers all threads.
  [[nodiscard]] bool tells_mappings() const { return sampler_.following() == perf::Following::by_events; }
  /// All that has come since the last call, without waiting for more.
  [[nodiscard]] Result<SampleBatch> drain();

 private:
  static constexpr std::size_t kMostInBatch = 512;

  PerfSource(std::uint32_t pid, base::ScopedFd folder, Arch arch, const PerfSourceOptions& options,
             perf::PerfSampler sampler);
  void sample(const perf::PerfSample& sample) override;
  void notice(const perf::PerfNotice& notice) override;

  std::uint32_t pid_;
  base::ScopedFd folder_;  ///< /proc/PID; a reused pid does not bring it back
  Arch arch_;
  PerfSourceOptions options_;
  perf::PerfSampler sampler_;
  SampleBatch batch_;
  StackBlocks stacks_;
  StackEnds ends_;
  std::unordered_map<ThreadId, std::string> names_;
  std::minstd_rand random_{static_cast<std::uint32_t>(monotonic_ns())};
  bool has_executed_ = false;
  std::uint64_t without_user_ = 0;
  std::uint64_t begin_ns_ = 0;  ///< samples before it do not count
  std::uint64_t looked_ns_ = 0;
  std::uint64_t told_ns_ = 0;  ///< when a sample or a mapping was last reported
};

}  // namespace mixstack::record
