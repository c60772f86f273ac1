// Counters of the kernel for the TCP connections of a process: what each has sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "process/live/proc_dir.h"

namespace mixstack::process {

/// A connection, since it was made.
struct SocketCounters {
  std::uint64_t inode = 0;
  std::string peer{};              ///< "127.0.0.1:80", "[::1]:80"
  std::uint64_t bytes_sent = 0;    ///< those sent again included
  std::uint64_t packets_sent = 0;  ///< with data
  std::uint64_t packets_received = 0;
};

/// The established TCP connections that a process has open, at most 1024 of its descriptors. sock_diag(7) tells their
/// counters, of our own network namespace. Empty: it has none, is in another namespace, or the kernel does not tell all
/// of them in 50 ms. Nothing is stopped, and no connection is touched.
[[nodiscard]] std::vector<SocketCounters> socket_counters(const ProcDir& proc);

/// One message of the kernel's answer, with its head. Nothing: it is no connection, or it is cut.
[[nodiscard]] std::optional<SocketCounters> parse_socket_message(std::span<const std::byte> message);

}  // namespace mixstack::process
