// Messages of NETLINK_SOCK_DIAG, by which the kernel tells of sockets: a head, what it is of, then attributes, each
// with its length and type (linux/netlink.h, linux/rtnetlink.h).
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/system/byte_cursor.h"

namespace mixstack::process {

[[nodiscard]] constexpr std::size_t netlink_aligned(std::size_t size) {
  return (size + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO;
}

/// The value of the first attribute of that type behind a `What` (inet_diag_msg, unix_diag_msg); borrowed. Nothing: no
/// answer about a socket, no such attribute, or the message contradicts itself.
template <class What>
[[nodiscard]] std::optional<std::span<const std::byte>> socket_attribute(std::span<const std::byte> message,
                                                                         std::uint16_t type) {
  const auto head = base::load_at<nlmsghdr>(message, 0);
  if (!head || head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len > message.size()) return std::nullopt;
  message = message.first(head->nlmsg_len);
  for (std::size_t at = netlink_aligned(sizeof(nlmsghdr)) + netlink_aligned(sizeof(What));;) {
    const auto attribute = base::load_at<rtattr>(message, at);
    if (!attribute || attribute->rta_len < sizeof(rtattr)) return std::nullopt;
    if (attribute->rta_type == type) {
      if (attribute->rta_len > message.size() - at) return std::nullopt;
      return message.subspan(at + sizeof(rtattr), attribute->rta_len - sizeof(rtattr));
    }
    at += netlink_aligned(attribute->rta_len);
  }
}

}  // namespace mixstack::process
