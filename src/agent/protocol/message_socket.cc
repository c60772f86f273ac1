#include "agent/protocol/message_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace mixstack::agent_link {
namespace {

using std::chrono::milliseconds;

[[nodiscard]] bool is_gone(int error) { return error == EPIPE || error == ECONNRESET; }

/// When the listener's backlog is full, connect(2) fails with EAGAIN and poll(2) cannot wait for it: retry after this.
constexpr milliseconds kTryAgain{10};

}  // namespace

Result<void> wait_for(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds::zero()) return fail(ErrorCode::limit_exceeded);
    pollfd one{fd, events, 0};
    const int n = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return fail(ErrorCode::io_error, 0, errno);
  }
}

Result<void> send_all(int fd, std::span<const std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const auto ready = wait_for(fd, POLLOUT, deadline); !ready) return ready;
    } else if (n < 0 && errno != EINTR) {
      return fail(is_gone(errno) ? ErrorCode::not_found : ErrorCode::io_error, 0, errno);
    }
  }
  return {};
}

Result<void> receive_all(int fd, std::span<std::byte> out, Clock::time_point deadline) {
  while (!out.empty()) {
    const ssize_t n = ::recv(fd, out.data(), out.size(), MSG_DONTWAIT);
    if (n > 0) {
      out = out.subspan(static_cast<std::size_t>(n));
    } else if (n == 0) {
      return fail(ErrorCode::not_found);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const auto ready = wait_for(fd, POLLIN, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return fail(is_gone(errno) ? ErrorCode::not_found : ErrorCode::io_error, 0, errno);
    }
  }
  return {};
}

Result<Message> receive(int fd, Clock::time_point deadline) {
  std::array<std::byte, kHeaderSize> bytes;
  if (const auto got = receive_all(fd, bytes, deadline); !got) return fail(got.error());
  const auto header = decode_header(bytes);
  if (!header) return fail(ErrorCode::malformed);
  Message message{*header, Bytes(header->size)};
  if (const auto got = receive_all(fd, message.payload, deadline); !got) return fail(got.error());
  return message;
}

Result<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return fail(ErrorCode::io_error, 0, errno);
  return Peer{static_cast<std::uint32_t>(credentials.pid), credentials.uid};
}

Result<base::ScopedFd> connect_to(const std::string& path, Clock::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(ErrorCode::limit_exceeded, path.size());
  std::memcpy(address.sun_path, path.data(), path.size());
  base::ScopedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(ErrorCode::io_error, 0, errno);
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN && Clock::now() < deadline) {
      std::this_thread::sleep_for(kTryAgain);
    } else if (errno != EINTR) {
      const ErrorCode code = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR ? ErrorCode::not_found
                             : errno == EACCES || errno == EPERM                          ? ErrorCode::permission_denied
                             : errno == EAGAIN                                            ? ErrorCode::limit_exceeded
                                                                                          : ErrorCode::io_error;
      return fail(code, 0, errno);
    }
  }
  return fd;
}

}  // namespace mixstack::agent_link
