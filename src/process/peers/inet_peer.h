// The other end of a TCP connection within this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "process/live/thread_facts.h"

namespace mixstack::peers {

/// The inode of the socket "tcp B -> A" for `name` "tcp A -> B": it exists if B is an address of this machine, in the
/// network namespace of the tables.
[[nodiscard]] std::optional<std::uint64_t> inet_peer(process::SocketTables& sockets, const std::string& name);

}  // namespace mixstack::peers
