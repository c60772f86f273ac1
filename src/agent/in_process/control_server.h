// The socket where the agent answers the command's requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/in_process/agent_thread.h"
#include "agent/in_process/outbox.h"
#include "agent/protocol/protocol.h"
#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::agent {

/// Listens in the temporary folder of the process (TMPDIR, else /tmp), like the runtime's own socket, so that it can be
/// reached from outside of a container. A peer must be the process's user or root. One thread serves all connections
/// without blocking on any; it sleeps while there is no request.
class ControlServer {
 public:
  using Bytes = agent_link::Bytes;
  /// Each returns a whole message. Called on the server's thread.
  struct Hooks {
    std::function<Bytes()> status;
    std::function<Bytes(std::string_view settings)> start;
    std::function<Bytes()> stop;
    /// Samples go to the outbox from now on, if the answer is a report.
    std::function<Bytes(std::string_view settings, std::shared_ptr<Outbox>)> record;
    std::function<Bytes(const Outbox*)> end_record;
  };

  /// Errors: io_error (no socket there), limit_exceeded (no thread, or the folder's name is too long).
  [[nodiscard]] static Result<std::unique_ptr<ControlServer>> create(UnsampledThreads& own, std::string agent_version,
                                                                     Hooks hooks);
  /// Only after `finish`.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Removes the socket's name, sends the remaining messages and ends the thread. False: it did not end within `time`.
  [[nodiscard]] bool finish(std::chrono::milliseconds time);
  [[nodiscard]] const std::string& path() const { return path_; }
  /// In a forked child: the socket belongs to its parent.
  void close_after_fork();

 private:
  struct Connection;
  ControlServer(std::string agent_version, Hooks hooks);
  [[nodiscard]] Result<void> listen();
  void run();
  void accept_one();
  [[nodiscard]] bool read_some(Connection& connection);
  void take_messages(Connection& connection);
  void answer(Connection& connection, const agent_link::Header& header, std::string_view text);
  void end_recordings();

  const std::string agent_version_;
  const Hooks hooks_;
  std::string path_;
  base::ScopedFd socket_, wake_;
  std::vector<std::unique_ptr<Connection>> connections_;  // used by the thread alone
  std::atomic<bool> is_ending_{false};
  std::unique_ptr<AgentThread> thread_;
};

}  // namespace mixstack::agent
