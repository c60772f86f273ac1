// The other end of a connected UNIX socket, which no file of /proc shows.
#pragma once

#include <cstdint>
#include <optional>

namespace mixstack::peers {

/// The inode of the socket that the one with this inode is connected to, both of our network namespace, as the kernel's
/// sock_diag(7) says. Nothing: it is not connected, is of another namespace, or the kernel does not tell. Waits for the
/// kernel's answer alone, which comes at once.
[[nodiscard]] std::optional<std::uint64_t> unix_peer(std::uint32_t inode);

}  // namespace mixstack::peers
