// The programs that a process starts, by perf events without samples: each of them is seen, however short it lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "mixstack/result.h"
#include "process/perf/perf_sampler.h"

namespace mixstack::perf {

/// A program by its file. `path` is the short name of its process where its file was not seen; as the kernel has it.
struct StartedProgram {
  std::string path;
  std::uint64_t count = 0;
  friend bool operator==(const StartedProgram&, const StartedProgram&) = default;
};

/// Counts notices of a process and of those that it made: its children, and all that they start. Pure, for tests.
class ExecCounter final : public PerfVisitor {
 public:
  explicit ExecCounter(std::uint32_t pid) : pid_(pid) {}
  void sample(const PerfSample& /*sample*/) override {}
  void notice(const PerfNotice& notice) override;
  /// Processes that threads of `pid` itself made.
  [[nodiscard]] std::uint64_t children() const { return children_; }
  /// Most starts first; those beyond 64 different ones are counted as "others".
  [[nodiscard]] std::vector<StartedProgram> programs() const;

 private:
  static constexpr std::size_t kMostPrograms = 64, kMostWaiting = 4096;
  void count(std::string_view path);

  std::uint32_t pid_;
  std::uint64_t children_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> programs_;
  /// By process that has executed a program whose code is not mapped yet: its name. The file is told by the mapping.
  std::unordered_map<ThreadId, std::string> waiting_;
};

/// Not thread-safe.
class ExecWatch {
 public:
  /// Errors: those of PerfSampler::open; limit_exceeded, too, where children cannot inherit the events.
  [[nodiscard]] static Result<ExecWatch> open(std::uint32_t pid, Arch arch);
  /// Reads what has come. To be called several times a second: the kernel's buffers are small.
  void drain() { (void)sampler_.drain(counter_, kMostRecords); }
  /// Ends the watch.
  void stop();
  [[nodiscard]] std::chrono::nanoseconds time() const { return time_; }
  [[nodiscard]] const ExecCounter& counter() const { return counter_; }

 private:
  static constexpr std::size_t kMostRecords = 1 << 16;
  ExecWatch(std::uint32_t pid, PerfSampler sampler) : sampler_(std::move(sampler)), counter_(pid) {}

  PerfSampler sampler_;
  ExecCounter counter_;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::nanoseconds time_{0};
};

}  // namespace mixstack::perf
