// Drops the fetcher's privileges and resources before its first request.
#pragma once

#include <sys/types.h>

#include <optional>

namespace mixstack::fetcher {

/// From the command line: `--serve PARENT`.
[[nodiscard]] std::optional<pid_t> parse_orders(int argc, char** argv);

/// Ends with the parent; no descriptors but the socket; writes no file and leaves no core; bounded memory; user nobody
/// when started as root, no capability, no way to gain any. False when a step failed: then no request may be made.
[[nodiscard]] bool seal(pid_t parent);

}  // namespace mixstack::fetcher
