// A recording while it is made: of several processes, and of those that they start.
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

#include "cli/program.h"
#include "cli/record_arguments.h"
#include "cli/recorded_process.h"
#include "profile/kernel_symbols.h"
#include "profile/open_recorder.h"
#include "target/live/cpu_quota.h"

namespace mixstack::cli {

/// The recording of some processes, begun. Borrows the arguments and the environment.
class Recordings {
 public:
  Recordings(const RecordArguments& arguments, const Environment& environment)
      : arguments_(arguments), environment_(environment) {
    if (!arguments.push.empty()) shared_.recording.keep_fresh();
    set_start(profile::monotonic_ns());
  }

  /// Before `start`: waits for it, and looks at a process that runs already, so that it is even from the begin on.
  /// Errors: as `profile::open_recorder`.
  tl::expected<void, profile::NotOpened> begin(std::unique_ptr<Session> session, std::uint32_t parent = 0);
  /// The time begins, and ends by itself after `duration` (0: never).
  void start(std::chrono::milliseconds duration);
  /// The same where another one ends, of the same processes: nothing is left out between the two.
  void start_where(const Recordings& before, std::chrono::milliseconds duration);
  /// Has what came before the start out of the way, where that is some time ahead. Takes a twentieth of a second.
  void stay_warm();
  /// Whether two of these can be open at once: no thread is stopped, which one alone can do.
  [[nodiscard]] bool can_overlap() const;
  /// How samples are taken; empty: no process is recorded.
  [[nodiscard]] std::string source_words() const;
  /// Processes that the recorded ones have started, and those that became another program. What cannot be opened is
  /// left out: most live for a moment.
  void follow();
  /// Those that have not ended.
  [[nodiscard]] std::vector<std::uint32_t> living() const;
  [[nodiscard]] bool all_have_ended() const {
    return std::all_of(all_.begin(), all_.end(), [](const Recorded& r) { return r.opened.recorder->has_ended(); });
  }
  [[nodiscard]] profile::SharedRecording& shared() { return shared_; }
  [[nodiscard]] std::uint64_t elapsed_ns() const {
    return (ended_ns_ != 0 ? ended_ns_ : profile::monotonic_ns()) - start_ns_;
  }
  /// Processor time that we used since it began.
  [[nodiscard]] std::uint64_t own_cpu() const { return own_cpu_ns() - cpu_before_ns_; }
  /// As it is now, for those who look at it meanwhile.
  [[nodiscard]] std::shared_ptr<const Recording> snapshot();
  /// What was recorded since the last call, of each sample once.
  [[nodiscard]] Recording take_piece();
  /// Those that were asked for and have ended for good: name and pid as words, by pid. After `finish`.
  [[nodiscard]] std::map<std::uint32_t, std::string> gone() const;
  /// A CPU quota kept threads from running, as a note says. After `finish`.
  [[nodiscard]] bool is_throttled() const { return is_throttled_; }
  /// Ends all of them and puts their accounts together. Answers the errors they ended with.
  void finish();
  /// Why samples could not be taken any more, of the first process that is there still; code none: nothing is wrong.
  [[nodiscard]] std::pair<Error, std::uint32_t> failure() const;

 private:
  /// Of one process.
  struct Recorded {
    std::uint32_t pid = 0;
    profile::OpenedRecorder opened;
    bool is_followed = false;                ///< it became another program, which is recorded as another one of these
    std::optional<std::uint64_t> cpu_ns;     ///< `user_cpu_ns` when it began, in `finish` what it used since
    std::vector<target::CpuQuota> quotas{};  ///< when it began
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
  std::uint64_t cpu_before_ns_ = 0;  ///< of ours, when it began
  bool is_started_ = false;
  bool is_throttled_ = false;
  std::uint64_t piece_began_ns_ = 0;  ///< of the day
  profile::SharedRecording shared_;
  profile::KernelSymbols kernel_;
  std::vector<Recorded> all_;
  std::set<std::uint32_t> known_;  ///< pids that were begun, or could not be
};

}  // namespace mixstack::cli
