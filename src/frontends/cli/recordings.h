// A running recording of several processes, and of those that they start.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/record/kernel_symbols.h"
#include "features/record/open_recorder.h"
#include "frontends/cli/program.h"
#include "frontends/cli/record_arguments.h"
#include "frontends/cli/recorded_process.h"
#include "process/live/cpu_quota.h"

namespace mixstack::cli {

/// Borrows the arguments and the environment.
class Recordings {
 public:
  Recordings(const RecordArguments& arguments, const Environment& environment)
      : arguments_(arguments), environment_(environment) {
    if (!arguments.push.empty()) shared_.recording.keep_fresh();
    set_start(record::monotonic_ns());
  }

  /// Adds a process. Before `start`, a running process is warmed up, so that sampling is even from the start. Errors:
  /// as `record::open_recorder`.
  tl::expected<void, record::NotOpened> begin(std::unique_ptr<Session> session, std::uint32_t parent = 0);
  /// Starts sampling, which ends by itself after `duration` (0: never).
  void start(std::chrono::milliseconds duration);
  /// Starts at the end of another recording of the same processes, without a gap.
  void start_where(const Recordings& before, std::chrono::milliseconds duration);
  /// Discards samples from before the start, while it is some time ahead. Takes a twentieth of a second.
  void stay_warm();
  /// Whether two of these can be open at once: only if no threads are stopped, since a thread has one tracer.
  [[nodiscard]] bool can_overlap() const;
  /// The source of samples in words; empty: no process is recorded.
  [[nodiscard]] std::string source_words() const;
  /// Adds processes that the recorded ones have started, and processes that became another program. Ones that cannot be
  /// opened are left out: most live for a moment.
  void follow();
  /// PIDs of the processes that have not ended.
  [[nodiscard]] std::vector<std::uint32_t> living() const;
  [[nodiscard]] bool all_have_ended() const {
    return std::all_of(all_.begin(), all_.end(), [](const Recorded& r) { return r.opened.recorder->has_ended(); });
  }
  [[nodiscard]] record::SharedRecording& shared() { return shared_; }
  [[nodiscard]] std::uint64_t elapsed_ns() const {
    return (ended_ns_ != 0 ? ended_ns_ : record::monotonic_ns()) - start_ns_;
  }
  /// CPU time of mixstack since the start.
  [[nodiscard]] std::uint64_t own_cpu() const { return own_cpu_ns() - cpu_before_ns_; }
  /// A copy of the current state.
  [[nodiscard]] std::shared_ptr<const Recording> snapshot();
  /// The samples since the last call, each once.
  [[nodiscard]] Recording take_piece();
  /// The chosen processes (not their children) that have ended: "name (pid N)", by PID. After `finish`.
  [[nodiscard]] std::map<std::uint32_t, std::string> gone() const;
  /// Whether a CPU quota kept threads from running; a note tells it, too. After `finish`.
  [[nodiscard]] bool is_throttled() const { return is_throttled_; }
  /// Stops all recorders and sums their accounts. `failure` tells their errors.
  void finish();
  /// The first error, other than the process's end, that stopped a recorder, and the PID; code none: no error.
  [[nodiscard]] std::pair<Error, std::uint32_t> failure() const;

 private:
  /// One recorded process.
  struct Recorded {
    std::uint32_t pid = 0;
    record::OpenedRecorder opened;
    bool is_followed = false;                 ///< it became another program, which is recorded as another element
    std::optional<std::uint64_t> cpu_ns;      ///< `user_cpu_ns` at the start; after `finish` the time used since
    std::vector<process::CpuQuota> quotas{};  ///< at the start
  };

  void describe(RecordingFacts& facts) const;
  void note_unseen_time();
  void note_quotas();
  void set_start(std::uint64_t start_ns);
  void start_all(std::chrono::milliseconds duration);

  const RecordArguments& arguments_;
  const Environment& environment_;
  std::uint64_t start_ns_ = 0, end_ns_ = UINT64_MAX;
  std::uint64_t ended_ns_ = 0;       ///< 0: not yet
  std::uint64_t cpu_before_ns_ = 0;  ///< CPU time of mixstack at the start
  bool is_started_ = false;
  bool is_throttled_ = false;
  std::uint64_t piece_began_ns_ = 0;  ///< wall clock, ns since 1970
  record::SharedRecording shared_;
  record::KernelSymbols kernel_;
  std::vector<Recorded> all_;
  std::set<std::uint32_t> known_;  ///< PIDs that were opened, or could not be
};

}  // namespace mixstack::cli
