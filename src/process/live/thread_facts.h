// Facts from /proc about captured threads: their time, and what they block on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "process/live/process_view.h"

namespace mixstack::process {

/// By thread, what `off_cpu_times` said before the stop.
using OffCpuTimes = std::unordered_map<ThreadId, std::chrono::nanoseconds>;

/// Reads two small files of each thread, a third for its name if the capture has none, and tables of sockets once if
/// one blocks on a socket: some 10 us a thread. A thread that left the call it was captured in (another number or stack
/// pointer) has no call here. `off_cpu` null: no off-CPU times and no wait channels.
[[nodiscard]] std::vector<ThreadFacts> read_thread_facts(const ProcessView& view,
                                                         std::span<const ThreadCapture> threads,
                                                         const OffCpuTimes* off_cpu);

/// "number arguments sp pc" of /proc/PID/task/TID/syscall; nothing for "running" and for what is blocked elsewhere.
struct BlockedCall {
  std::int64_t number = -1;
  std::array<std::uint64_t, 6> arguments{};
  Address sp = 0;
};
[[nodiscard]] std::optional<BlockedCall> parse_blocked_call(std::string_view text);

/// Sockets by inode, as /proc/PID/net has them: "tcp 10.0.0.1:443 -> 10.0.0.9:51012", "tcp listening on [::]:80".
using SocketNames = std::map<std::uint64_t, std::string>;
/// Parses a table of /proc/PID/net (tcp, tcp6, udp, udp6); lines that make no sense are left out.
void parse_inet_sockets(std::string_view table, std::string_view protocol, SocketNames& out);
void parse_unix_sockets(std::string_view table, SocketNames& out);

/// The tables of one network namespace, read one by one until a socket is found: for each Internet table the kernel
/// walks a whole hash table, which takes milliseconds, and every .NET process waits at a local socket.
class SocketTables {
 public:
  /// `read`: the text of "net/unix" and the others, empty where there is none.
  explicit SocketTables(std::function<std::string(const std::string& file)> read) : read_(std::move(read)) {}
  /// Null: in none of them.
  [[nodiscard]] const std::string* name(std::uint64_t inode);
  [[nodiscard]] const SocketNames& all();

 private:
  bool read_next();

  std::function<std::string(const std::string& file)> read_;
  std::size_t tables_ = 0;  ///< that were read
  SocketNames names_;
};

}  // namespace mixstack::process
