// Records what the threads of a process do over a time, as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "mixstack/recording.h"
#include "mixstack/result.h"
#include "mixstack/session.h"

namespace mixstack {

enum class RecordMode : std::uint8_t {
  wall,  ///< all threads: what runs and what waits
  cpu,   ///< running threads alone
  /// The makers of managed objects, weighted by bytes (`SampleClock::bytes`); the innermost frame of each stack is the
  /// type of the object.
  allocations,
  /// First uses of memory, native or managed, weighted by bytes: a page fault stands for a page, also
  /// where the kernel gave a huge one. By perf events alone.
  first_uses,
};

/// The steps of a recording, in their order; `sample` comes some ten times a second.
enum class RecordStep : std::uint8_t {
  open,    ///< sources of samples are opened, and what walks and names need is read
  sample,  ///< samples are taken
  finish,  ///< the time is over: the last samples are walked
};

struct RecordProgress {
  RecordStep step = RecordStep::open;
  std::chrono::nanoseconds elapsed{0};  ///< since the first sample could be taken
  std::uint64_t samples = 0, lost = 0;  ///< until now, up to a second old
};

struct RecordOptions {
  RecordMode mode = RecordMode::wall;
  std::uint32_t hertz = 0;  ///< samples of a thread a second; 0: 100 of wall time, 999 of processor time
  /// 0: until `progress` ends it, or the process ends.
  std::chrono::milliseconds duration{0};
  double most_held = 0.01;     ///< largest share of its time for which a thread may be stopped
  bool may_stop = true;        ///< false: only sources that stop no thread
  bool kernel = false;         ///< frames of the kernel, too, where they are allowed
  bool async_callers = false;  ///< async methods that await the sampled one are its callers
  /// Called at each step, in the thread that records. False ends the recording: before its first sample with
  /// `ErrorCode::cancelled`, later with what was recorded until then. Null: none.
  std::function<bool(const RecordProgress& now)> progress{};
  /// Called about once in `piece_interval` and at the end with the samples since the last call, each once: for a view
  /// of what runs now. Null: none.
  std::function<void(Recording piece)> pieces{};
  std::chrono::milliseconds piece_interval{1000};
};

/// Records the process of a session until the time is over, `progress` ends it or the process ends (a note in
/// `RecordingFacts::notes` says so); what was recorded until then is the result. Nobody else may use the session
/// meanwhile. Several files are held open for each thread; with too few (RLIMIT_NOFILE) threads are stopped more often,
/// and a note says so. Losses are in `RecordingFacts::account`; sources that were not allowed are in the notes. Errors:
/// permission_denied (nothing is allowed, or only stops are, and `may_stop` is false), invalid_argument (no end:
/// `duration` 0 without `progress`), limit_exceeded (allocations: no debug register is free), unsupported (a core, our
/// own process; allocations: no runtime that tells), cancelled, those of reading the process.
[[nodiscard]] Result<Recording> record_stacks(Session& session, const RecordOptions& options);

}  // namespace mixstack
