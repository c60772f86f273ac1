// The state of a debugged process that any thread may read without asking the tracer.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "process/debugger/debug_event.h"
#include "process/debugger/program.h"

namespace mixstack::process {

/// Written by the tracer. Thread-safe.
class ProcessStatus {
 public:
  explicit ProcessStatus(std::uint32_t pid) : pid_(pid) {}

  void update(bool is_running, std::shared_ptr<Program> program) {
    const std::lock_guard lock(mutex_);
    running_ = is_running && phase_ != Phase::ended;
    program_ = std::move(program);
  }
  void set_ended(DebugEvent end) {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::ended;
    running_ = false;
    end_ = std::move(end);
  }
  void set_detached() {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::debugged) phase_ = Phase::detached;
  }

  /// Errors: `no_such_process` after it ended, `not_found` after it was detached.
  [[nodiscard]] Result<void> check() const {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::ended) return fail(ErrorCode::no_such_process, pid_);
    if (phase_ == Phase::detached) return fail(ErrorCode::not_found, pid_);
    return {};
  }
  [[nodiscard]] bool is_running() const { return get(running_); }
  /// How it ended; nothing before.
  [[nodiscard]] std::optional<DebugEvent> end() const { return get(end_); }
  [[nodiscard]] std::shared_ptr<Program> program() const { return get(program_); }

 private:
  template <class T>
  [[nodiscard]] T get(const T& member) const {
    const std::lock_guard lock(mutex_);
    return member;
  }

  enum class Phase : std::uint8_t { debugged, ended, detached };
  mutable std::mutex mutex_;
  const std::uint32_t pid_;
  Phase phase_ = Phase::debugged;
  bool running_ = true;
  std::optional<DebugEvent> end_;
  std::shared_ptr<Program> program_;
};

}  // namespace mixstack::process
