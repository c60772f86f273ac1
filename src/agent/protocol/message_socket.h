// Whole messages over a stream socket, each within a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "agent/protocol/protocol.h"
#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::agent_link {

using Clock = std::chrono::steady_clock;

struct Message {
  Header header;
  Bytes payload;
};

/// Waits until a descriptor is ready for `events` (poll(2)) or broken. Errors: `limit_exceeded` (the deadline has
/// passed), `io_error`.
[[nodiscard]] Result<void> wait_for(int fd, short events, Clock::time_point deadline);

/// Sends all of the bytes. Errors: `limit_exceeded` (the deadline has passed), `not_found` (the peer is gone),
/// `io_error`.
[[nodiscard]] Result<void> send_all(int fd, std::span<const std::byte> bytes, Clock::time_point deadline);
/// Receives exactly `out.size()` bytes. The same errors.
[[nodiscard]] Result<void> receive_all(int fd, std::span<std::byte> out, Clock::time_point deadline);

/// The next message. Errors: those of receive_all; `malformed` (no header of a message).
[[nodiscard]] Result<Message> receive(int fd, Clock::time_point deadline);

/// The peer (SO_PEERCRED, unix(7)); for a client's socket, the process that listens. `pid` is as our PID namespace sees
/// it, 0: not visible in it.
struct Peer {
  std::uint32_t pid = 0, uid = 0;
};
[[nodiscard]] Result<Peer> peer_of(int fd);

/// Connects a new non-blocking, close-on-exec stream socket to a path. Errors: limit_exceeded (the deadline has passed,
/// or the path is too long), not_found (no socket there, or no listener), permission_denied, io_error.
[[nodiscard]] Result<base::ScopedFd> connect_to(const std::string& path, Clock::time_point deadline);

}  // namespace mixstack::agent_link
