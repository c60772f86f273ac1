#include "process/peers/unix_peer.h"

#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/system/scoped_fd.h"
#include "process/live/sock_diag.h"

namespace mixstack::peers {
namespace {

struct Request {
  nlmsghdr head;
  unix_diag_req what;
};

std::optional<std::uint64_t> peer_in(std::span<const std::byte> message) {
  const auto value = process::socket_attribute<unix_diag_msg>(message, UNIX_DIAG_PEER);
  const auto inode = value ? base::load_at<std::uint32_t>(*value, 0) : std::nullopt;
  return inode && *inode != 0 ? std::optional<std::uint64_t>(*inode) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> unix_peer(std::uint32_t inode) {
  const base::ScopedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd) return std::nullopt;
  const timeval patience{.tv_sec = 0, .tv_usec = 100'000};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Request request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.what.sdiag_family = AF_UNIX;
  request.what.udiag_states = ~0u;
  request.what.udiag_ino = inode;
  request.what.udiag_show = UDIAG_SHOW_PEER;
  request.what.udiag_cookie[0] = request.what.udiag_cookie[1] = ~0u;  // whatever it was when
  if (::send(fd.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return std::nullopt;
  alignas(nlmsghdr) std::array<std::byte, 4096> answer{};
  const ssize_t size = ::recv(fd.get(), answer.data(), answer.size(), 0);
  if (size <= 0) return std::nullopt;
  return peer_in(std::span(answer).first(static_cast<std::size_t>(size)));
}

}  // namespace mixstack::peers
