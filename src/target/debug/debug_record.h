// What the tracer knows of a debugged process and of its threads.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "target/debug/debug_session.h"
#include "target/debug/program.h"

namespace mixstack::target {

/// One traced thread. Who wants it to stand still is `held` (the user) and the guards of its process.
struct Tracee {
  enum class State : std::uint8_t {
    running,
    listening,  ///< in a job-control stop, and PTRACE_LISTEN told the kernel to let SIGCONT end it
    stopped,    ///< in a ptrace stop: its registers can be read
    ended,      ///< the main thread as a zombie, while others live on: nothing is ever reported of it
  };
  ThreadId tid = 0;
  State state = State::running;
  bool held = false;
  bool keeps_signal = false;  ///< held at a signal on the user's wish: delivered only when it goes on
  int signal = 0;             ///< stopped before the delivery of this signal
  int job_stop = 0;           ///< stopped in a job-control stop by this signal
};

struct Guard {
  std::uint64_t id = 0;
  bool all = false;
  std::vector<ThreadId> tids;  ///< ascending
  [[nodiscard]] bool covers(ThreadId tid) const { return all || std::binary_search(tids.begin(), tids.end(), tid); }
};

/// A debugged process. Belongs to the tracer, except `shared`.
struct DebugRecord {
  enum class Startup : std::uint8_t { exec, linker, done };
  enum class Phase : std::uint8_t { debugged, ended, detached };

  std::uint32_t pid = 0;
  DebugOptions options;
  std::shared_ptr<Program> program;
  std::uint64_t generation = 0;  ///< counts execs
  std::map<ThreadId, Tracee> tracees;
  std::vector<Guard> guards;
  std::vector<LoadedLibrary> libraries;
  bool libraries_known = false;
  bool paused = false;         ///< newborn threads are held, too
  bool stop_reported = false;  ///< `stopped` was emitted for this pause
  bool leaving = false;        ///< detached by the user; threads that could not be stopped are still ours
  Startup startup = Startup::done;
  std::shared_ptr<DebuggedProcess> handle;

  /// What handles look at from any thread, written by the tracer.
  struct Shared {
    std::mutex mutex;
    Phase phase = Phase::debugged;
    bool running = true;
    std::optional<DebugEvent> end;
    std::shared_ptr<Program> program;
  };
  mutable Shared shared;

  [[nodiscard]] bool wants_still(const Tracee& t) const {
    return t.held || std::any_of(guards.begin(), guards.end(), [&](const Guard& g) { return g.covers(t.tid); });
  }
  [[nodiscard]] static bool is_still(const Tracee& t) {
    return t.state == Tracee::State::stopped || t.state == Tracee::State::ended;
  }
  /// Every thread that somebody wants still, is.
  [[nodiscard]] bool is_settled() const {
    return std::all_of(tracees.begin(), tracees.end(),
                       [&](const auto& entry) { return is_still(entry.second) || !wants_still(entry.second); });
  }
  /// A thread that should stand still and does not, or 0.
  [[nodiscard]] ThreadId straggler() const {
    for (const auto& [tid, t] : tracees)
      if (!is_still(t) && wants_still(t)) return tid;
    return 0;
  }
  /// To be called after every change of wishes or threads.
  void publish() const {
    const auto is_free = [](const auto& entry) {
      return !entry.second.held && entry.second.state != Tracee::State::ended;
    };
    const bool any_free = std::any_of(tracees.begin(), tracees.end(), is_free);
    const std::lock_guard lock(shared.mutex);
    shared.running = shared.phase != Phase::ended && (leaving || any_free);
    shared.program = program;
  }
};

}  // namespace mixstack::target
