// The socket at which the command asks the agent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent_thread.h"
#include "agent/outbox.h"
#include "agent_link/protocol.h"
#include "base/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::agent {

/// Listens in the temporary folder of the process (TMPDIR, else /tmp), where the runtime's own socket is, too, so that
/// it can be reached from outside of a container. Whoever connects must be the process's user or root. A thread of its
/// own serves all connections and waits for none of them; it sleeps while nobody asks.
class ControlServer {
 public:
  using Bytes = agent_link::Bytes;
  /// Each answers a whole message. Called on the server's thread.
  struct Hooks {
    std::function<Bytes()> status;
    std::function<Bytes(std::string_view settings)> start;
    std::function<Bytes()> stop;
    /// What is sampled goes to the outbox from now on, if the answer is a report.
    std::function<Bytes(std::string_view settings, std::shared_ptr<Outbox>)> record;
    std::function<Bytes(const Outbox*)> end_record;
  };

  /// Errors: io_error (no socket there), limit_exceeded (no thread, or the folder's name is too long).
  [[nodiscard]] static Result<std::unique_ptr<ControlServer>> create(OwnThreads& own, std::string agent_version,
                                                                     Hooks hooks);
  /// After `finish`.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Sends what is still to be sent, for so long, and ends. The socket's name is removed. False: the thread did not
  /// end.
  [[nodiscard]] bool finish(std::chrono::milliseconds time);
  [[nodiscard]] const std::string& path() const { return path_; }
  /// In a child made by fork: the socket is its parent's.
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
  std::vector<std::unique_ptr<Connection>> connections_;  // the thread's
  std::atomic<bool> is_ending_{false};
  std::unique_ptr<AgentThread> thread_;
};

}  // namespace mixstack::agent
