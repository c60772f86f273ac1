// A recording in parts that follow each other without a gap: one file after the other. A recording without an interval
// is one part.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "features/record/recordings.h"

namespace mixstack::record {

struct PartsOptions {
  RecordingsOptions recordings{};     ///< `open_process` opens those of later parts, too
  std::vector<std::uint32_t> pids{};  ///< the processes
  /// Finds the processes anew for each part. Null: they are `pids`.
  std::function<std::vector<std::uint32_t>()> find{};
  /// Whether an error means that the process has ended, is ending, or runs another program now.
  std::function<bool(const Error& error, std::uint32_t pid)> has_gone{};
  std::chrono::milliseconds duration{0};  ///< of all parts; 0: until something else ends them
  std::chrono::milliseconds length{0};    ///< of each part; 0: there is one
};

/// The next part is opened a second before the end of the current one, if both can record at once, and starts exactly
/// at its end. Otherwise it is opened after the current one was written. Not thread-safe.
class RecordingParts {
 public:
  explicit RecordingParts(PartsOptions options) : options_(std::move(options)) {}

  [[nodiscard]] unsigned number() const { return number_; }  ///< of the current part, from 1
  [[nodiscard]] bool is_last() const;
  /// The current part records, or has recorded.
  [[nodiscard]] bool is_open() const { return now_ != nullptr; }
  [[nodiscard]] Recordings& now() { return *now_; }

  /// Begins a part; its caller opens the processes of the first one, and then calls `start`.
  Recordings& make();
  /// Processes of a later part, which has been made: those that have ended are left out from now on.
  struct Reopened {
    bool is_any = false;
    std::vector<std::uint32_t> ended{};
    std::uint32_t failed_pid = 0;  ///< one that runs, and could not be opened; 0: none
    NotOpened fault{};
  };
  [[nodiscard]] Reopened open_again();
  void start() { now_->start(this_length()); }

  /// Records until the part or something else ends it.
  [[nodiscard]] RunEnd run(RunHooks hooks);
  /// Ends the part and adds `notes` about processes that ended. Returns the PIDs of those that had not.
  [[nodiscard]] std::vector<std::uint32_t> finish(RunEnd end, bool notes);
  /// Goes on to the next part. `living`: record these; empty: those that were to be recorded.
  void advance(const std::vector<std::uint32_t>& living);

 private:
  [[nodiscard]] std::chrono::milliseconds this_length() const {
    return is_last() ? options_.duration : options_.length;
  }
  [[nodiscard]] std::vector<std::uint32_t> found() const { return options_.find ? options_.find() : options_.pids; }
  void prepare_next(std::uint64_t left_ns);
  [[nodiscard]] std::unique_ptr<Recordings> open_next() const;
  void note_ends(bool is_the_end);

  PartsOptions options_;  ///< `duration`: what is left of it from the current part on
  unsigned number_ = 1;
  std::unique_ptr<Recordings> now_, next_;
  bool has_tried_next_ = false;
  std::set<std::uint32_t> told_;  ///< PIDs whose end was noted
};

}  // namespace mixstack::record
