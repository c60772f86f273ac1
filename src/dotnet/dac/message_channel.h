// Whole messages over one end of a socket pair, with a deadline.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "base/system/scoped_fd.h"
#include "dotnet/dac/protocol.h"

namespace mixstack::dotnet::dac {

/// One end. Not thread-safe. A peer that is gone is `io_error` with EPIPE, one that is late with ETIMEDOUT; no signal
/// is raised in either case. After an error the stream is out of step: close it.
class MessageChannel {
 public:
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>;  ///< nothing: wait for ever

  MessageChannel() = default;
  explicit MessageChannel(base::ScopedFd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
  /// `limit_exceeded` when the payload is larger than kMaxPayload.
  [[nodiscard]] Result<void> send(MessageType type, std::span<const std::byte> payload, Deadline deadline = {});
  /// `malformed` for another protocol version, `limit_exceeded` for a message that claims to be too large.
  [[nodiscard]] Result<DacMessage> receive(Deadline deadline = {});

 private:
  [[nodiscard]] Result<void> send_all(std::span<const std::byte> bytes, Deadline deadline);
  [[nodiscard]] Result<void> receive_all(std::span<std::byte> bytes, Deadline deadline);

  base::ScopedFd socket_;
};

}  // namespace mixstack::dotnet::dac
