#include "dotnet/dac/message_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace mixstack::dotnet::dac {
namespace {

/// Waits until `events` or the deadline.
Result<void> wait_for(int fd, short events, MessageChannel::Deadline deadline) {
  while (true) {
    int timeout = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - MessageChannel::Clock::now()).count();
      if (left <= 0) return fail(ErrorCode::io_error, 0, ETIMEDOUT);
      timeout = static_cast<int>(std::min<long long>(left, 1 << 30));
    }
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int n = ::poll(&entry, 1, timeout);
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return fail(ErrorCode::io_error, 0, errno);
  }
}

}  // namespace

Result<void> MessageChannel::send(MessageType type, std::span<const std::byte> payload, Deadline deadline) {
  if (payload.size() > kMaxPayload) return fail(ErrorCode::limit_exceeded, payload.size());
  // One write for both: the peer wakes once.
  std::vector<std::byte> bytes(sizeof(MessageHeader) + payload.size());
  const MessageHeader header{static_cast<std::uint32_t>(payload.size()), type, kProtocolVersion};
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!payload.empty()) std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
  return send_all(bytes, deadline);
}

Result<void> MessageChannel::send_all(std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(socket_.get(), POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return fail(ErrorCode::io_error, 0, errno == ECONNRESET ? EPIPE : errno);
    }
  }
  return {};
}

Result<DacMessage> MessageChannel::receive(Deadline deadline) {
  MessageHeader header;
  if (auto r = receive_all(std::as_writable_bytes(std::span(&header, 1)), deadline); !r) return fail(r.error());
  if (header.version != kProtocolVersion) return fail(ErrorCode::malformed, header.version);
  if (header.size > kMaxPayload) return fail(ErrorCode::limit_exceeded, header.size);
  DacMessage message{header.type, std::vector<std::byte>(header.size)};
  if (auto r = receive_all(message.payload, deadline); !r) return fail(r.error());
  return message;
}

Result<void> MessageChannel::receive_all(std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (n == 0) {
      return fail(ErrorCode::io_error, 0, EPIPE);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(socket_.get(), POLLIN, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return fail(ErrorCode::io_error, 0, errno == ECONNRESET ? EPIPE : errno);
    }
  }
  return {};
}

}  // namespace mixstack::dotnet::dac
