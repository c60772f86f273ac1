// A capture of our other threads by a signal that each of them handles.
#pragma once

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::process {

/// Filled in by one thread's handler.
struct SignalSlot {
  enum State : std::uint32_t { asked, copying, done, given_up };
  std::atomic<std::uint32_t> state{asked};
  Registers registers;
  Address stack_base = 0;
  std::size_t stack_size = 0;
  std::byte* copy = nullptr;
  bool truncated = false;
  MemorySlice left;  ///< the part of its own stack that a thread has left for an alternate one
};

/// Installs a handler, sends the signal to each thread, waits for the copies, and puts the former action back, all in
/// one call. A signal that a thread has blocked is taken back (an ignored signal does not stay pending), so it does not
/// meet the former action later. A signal of that number that somebody else sends meanwhile is handed to the former
/// handler.
///
/// One at a time in a process: a second one answers `thread_not_stopped`. Answers one slot for each of `tids`; those
/// not `done` did not answer before the deadline. Errors: invalid_argument (a signal that cannot be handled), io_error.
class SignalCapture {
 public:
  SignalCapture(int signal, const std::vector<Region>& regions, const CaptureRequest& request)
      : signal_(signal), regions_(regions), request_(request) {}
  [[nodiscard]] Result<void> run(const std::vector<ThreadId>& tids, std::chrono::milliseconds timeout);

  [[nodiscard]] const SignalSlot& operator[](std::size_t i) const { return round_->slots[i]; }
  /// The copies' memory, to be kept as long as they.
  [[nodiscard]] std::unique_ptr<std::byte[]> take_room();

  /// Shared with the handlers. Lives on if one of them does not finish.
  struct Round {
    const std::vector<Region>* regions = nullptr;
    std::size_t initial = 0;
    std::unique_ptr<SignalSlot[]> slots;
    std::size_t count = 0;
    std::unique_ptr<std::byte[]> room;
    std::atomic<std::size_t> room_used{0};
    std::size_t room_size = 0;
    struct sigaction before {};
  };

 private:
  [[nodiscard]] bool wait_until_done(std::chrono::steady_clock::time_point deadline) const;

  int signal_;
  const std::vector<Region>& regions_;
  const CaptureRequest& request_;
  std::unique_ptr<Round> round_;
};

}  // namespace mixstack::process
