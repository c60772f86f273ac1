// A running recording of several processes, and of those that they start.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/record/kernel_symbols.h"
#include "features/record/open_recorder.h"
#include "process/live/cpu_quota.h"

namespace mixstack::record {

struct RecordingsOptions {
  RecorderOptions recorder{};  ///< `stacks.process` and `stacks.kernel` are ours
  bool native_names = true;    ///< false: native code is named later
  bool subprocesses = false;   ///< adopted processes are found, too
  bool has_launched = false;  ///< a program that has just been started: no warm-up, since it would run unseen meanwhile
  bool keeps_pieces = false;  ///< for `take_piece`
  /// Opens processes that the recorded ones have started. Null: none are followed.
  std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> open_process{};
};

/// Why `run` ended.
enum class RunEnd : std::uint8_t { time, caller, process };

struct RunHooks {
  /// Waits so long at most; false: the recording ends. Null: sleeps.
  std::function<bool(std::chrono::milliseconds most)> wait{};
  /// Called after each wait, some ten times a second. False: the recording ends.
  std::function<bool()> look{};
  /// Called before each wait with the time that is left. Null: not.
  std::function<void(std::uint64_t left_ns)> before{};
};

class Recordings {
 public:
  explicit Recordings(RecordingsOptions options) : options_(std::move(options)) {
    if (options_.keeps_pieces) shared_.recording.keep_fresh();
    set_start(monotonic_ns());
  }

  /// Adds a process. Before `start`, a running process is warmed up, so that sampling is even from the start. Errors:
  /// as `open_recorder`.
  tl::expected<void, NotOpened> begin(std::shared_ptr<Session> session, std::uint32_t parent = 0);
  /// Starts sampling, which ends by itself after `duration` (0: never).
  void start(std::chrono::milliseconds duration);
  /// Starts at the end of another recording of the same processes, without a gap.
  void start_where(const Recordings& before, std::chrono::milliseconds duration);
  /// Waits until `length` is over (0: never), all processes have ended or the hooks end it. After `start`.
  [[nodiscard]] RunEnd run(std::chrono::milliseconds length, const RunHooks& hooks);
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
  [[nodiscard]] SharedRecording& shared() { return shared_; }
  [[nodiscard]] std::uint64_t elapsed_ns() const { return (ended_ns_ != 0 ? ended_ns_ : monotonic_ns()) - start_ns_; }
  /// CPU time of mixstack since the start.
  [[nodiscard]] std::uint64_t own_cpu() const;
  /// Samples that were lost until a second ago; after `finish`, all of them.
  [[nodiscard]] std::uint64_t lost();
  /// A copy of the current state.
  [[nodiscard]] std::shared_ptr<const Recording> snapshot();
  /// The samples since the last call, each once. With `keeps_pieces`.
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
    OpenedRecorder opened;
    bool is_followed = false;                 ///< it became another program, which is recorded as another element
    std::optional<std::uint64_t> cpu_ns;      ///< `user_cpu_ns` at the start; after `finish` the time used since
    std::vector<process::CpuQuota> quotas{};  ///< at the start
  };

  void describe(RecordingFacts& facts) const;
  void add_accounts(RecordingFacts& facts);
  void note_unseen_time();
  void note_quotas();
  void set_start(std::uint64_t start_ns);
  void start_all(std::chrono::milliseconds duration);

  RecordingsOptions options_;
  std::uint64_t start_ns_ = 0, end_ns_ = UINT64_MAX;
  std::uint64_t ended_ns_ = 0;       ///< 0: not yet
  std::uint64_t cpu_before_ns_ = 0;  ///< CPU time of mixstack at the start
  bool is_started_ = false;
  bool is_throttled_ = false;
  std::uint64_t piece_began_ns_ = 0;  ///< wall clock, ns since 1970
  SharedRecording shared_;
  KernelSymbols kernel_;
  std::vector<Recorded> all_;
  std::set<std::uint32_t> known_;  ///< PIDs that were opened, or could not be
};

}  // namespace mixstack::record
