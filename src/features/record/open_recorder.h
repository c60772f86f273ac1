// Opens a recorder for what the user wants: chooses the sources and says why better ones are not available.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/record/process_recorder.h"
#include "mixstack/record.h"

namespace mixstack::record {

enum class Want : std::uint8_t {
  wall,         ///< what runs and what waits
  cpu,          ///< what runs
  allocations,  ///< what makes objects, by bytes
  first_uses,   ///< what touches memory that was not there, by bytes (a page each)
  page_faults,  ///< what touches memory that was not there; by perf events alone. Counts as `SampleClock::cpu`
  memory_use,   ///< as first_uses, and the calls that map memory where they are told (`Options::memory_use`)
};

[[nodiscard]] Want want_of(RecordMode mode);

struct RecorderOptions {
  Want want = Want::wall;
  std::uint32_t hertz = 0;   ///< 0: 100 of wall time, 999 of others
  std::uint64_t period = 0;  ///< of page faults: a sample each so many; 0: by `hertz`
  double most_held = 0;      ///< as in StopOptions
  bool may_stop = true;      ///< threads may be stopped where no other source sees them
  bool kernel = false;
  StackRecorder::Options stacks;
};

/// As a caller of `record_stacks` wants it.
[[nodiscard]] RecorderOptions recorder_options(const RecordOptions& wanted);

inline constexpr std::uint32_t kUsualWallHertz = 100, kUsualCpuHertz = 999;
/// How the note begins that says why calls that map memory are not seen (Want::memory_use).
inline constexpr char kNoMemoryCalls[] = "calls that map memory are not seen, only its first uses: ";
/// Highest rate where running threads must be stopped.
inline constexpr std::uint32_t kMostStopHertz = 100;

struct OpenedRecorder {
  std::unique_ptr<ProcessRecorder> recorder;
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;  ///< as in RecordingFacts
  std::vector<std::string> notes;               ///< sources that are not available, and the remedy
};

/// Why no recorder could be opened.
struct NotOpened {
  Error error;
  bool is_without_stops = false;     ///< stops would have been allowed by the system, but `may_stop` is false
  std::vector<std::string> notes{};  ///< then: why recording without stops failed; else empty, or why at all
};

/// Begins to record. Errors: permission_denied (nothing at all is allowed), those of the sources.
[[nodiscard]] tl::expected<OpenedRecorder, NotOpened> open_recorder(std::shared_ptr<SharedSession> session,
                                                                    SharedRecording& shared,
                                                                    const RecorderOptions& options);

/// Open files (ulimit -n) that suffice to record a process of so many threads: an event for each, two to see whether it
/// has run, and some for all. With fewer, threads are stopped, or stopped more often.
[[nodiscard]] std::uint64_t enough_files(std::size_t threads);

}  // namespace mixstack::record
