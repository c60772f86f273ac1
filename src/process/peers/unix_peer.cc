#include "process/peers/unix_peer.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/system/scoped_fd.h"

namespace mixstack::peers {
namespace {

struct Request {
  nlmsghdr head;
  unix_diag_req what;
};

template <class Value>
std::optional<Value> value_at(std::span<const std::byte> bytes, std::size_t at) {
  Value value{};
  if (at > bytes.size() || bytes.size() - at < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

constexpr std::size_t aligned(std::size_t size) { return (size + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO; }

/// One message: its head, what it is of, then attributes, each with its length and type.
std::optional<std::uint64_t> peer_in(std::span<const std::byte> bytes) {
  const auto head = value_at<nlmsghdr>(bytes, 0);
  if (!head || head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len > bytes.size()) return std::nullopt;
  bytes = bytes.first(head->nlmsg_len);
  for (std::size_t at = aligned(sizeof(nlmsghdr)) + aligned(sizeof(unix_diag_msg));;) {
    const auto attribute = value_at<rtattr>(bytes, at);
    if (!attribute || attribute->rta_len < sizeof(rtattr)) return std::nullopt;
    if (attribute->rta_type == UNIX_DIAG_PEER) {
      const auto inode = value_at<std::uint32_t>(bytes, at + sizeof(rtattr));
      return inode && *inode != 0 ? std::optional<std::uint64_t>(*inode) : std::nullopt;
    }
    at += aligned(attribute->rta_len);
  }
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
