// Finds the sockets of a process from outside, in containers too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/message_socket.h"
#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::agent_client {

/// A failure with its message.
struct Failure {
  Error error;
  std::string_view reason;  ///< a stable name for programs, a literal: "no_agent"
  std::string text;         ///< what happened and what to do next
};
template <class T>
using Outcome = tl::expected<T, Failure>;

[[nodiscard]] tl::unexpected<Failure> refuse(ErrorCode code, std::string_view reason, std::string text,
                                             int os_error = 0);

/// The facts of a process that finding its sockets needs. Its root folder is held by descriptor.
struct TargetPlace {
  std::uint32_t pid = 0;             ///< as we see it
  std::uint32_t inner_pid = 0;       ///< as it sees itself
  uid_t user = 0;                    ///< effective
  uid_t root_user = 0;               ///< uid that is root in its user namespace
  char state = '?';                  ///< as in /proc/PID/stat
  base::ScopedFd root;               ///< its root folder, O_PATH
  bool has_own_root = false;         ///< its root is not ours: a container
  std::vector<std::string> folders;  ///< where its sockets may be, as it names them: TMPDIR, /tmp
  bool has_musl = false;             ///< its C library is musl (Alpine)
};

/// Errors: no_such_process, unsupported (/proc is of another pid namespace).
[[nodiscard]] Outcome<TargetPlace> place_of(std::uint32_t pid);

/// `dotnet-diagnostic-17-81-socket` is prefix, inner PID, "-", any key, suffix.
struct SocketName {
  std::string_view prefix, suffix;
};

/// Connects to the newest socket of that name on which the process itself listens. Errors: not_found,
/// limit_exceeded (not accepted in time), permission_denied.
[[nodiscard]] Outcome<base::ScopedFd> connect_to_process(const TargetPlace& place, const SocketName& name,
                                                         agent_link::Clock::time_point deadline);

/// Whether a file's name is that of a socket of this process.
[[nodiscard]] bool is_name_of(std::string_view file, const SocketName& name, std::uint32_t inner_pid);

/// Whether the text of /proc/PID/maps names musl. Its loader and C library are one file: ld-musl-CPU.so.1 or
/// CPU-linux-musl/libc.so.
[[nodiscard]] bool names_musl(std::string_view maps);

/// The value of a variable in the bytes of /proc/PID/environ; empty: not set.
[[nodiscard]] std::string variable_of(std::string_view environment, std::string_view name);

}  // namespace mixstack::agent_client
