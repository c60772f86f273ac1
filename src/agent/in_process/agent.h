// The profiler: starts and stops sampling, handles the runtime's callbacks and the command's requests.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/in_process/agent_thread.h"
#include "agent/in_process/clr.h"
#include "agent/in_process/control_server.h"
#include "agent/in_process/known_code.h"
#include "agent/in_process/options.h"
#include "agent/in_process/recorder.h"
#include "agent/in_process/runtime_frames.h"
#include "agent/in_process/sampler.h"
#include "agent/protocol/protocol.h"

namespace mixstack::agent {

/// One in a process. Any thread of the runtime may call its callbacks until the process ends, so it is never destroyed.
/// While it is not sampling, the runtime calls nothing, no memory is held for code and samples, and one thread sleeps
/// at the control socket.
class Agent {
 public:
  /// Opens the control socket. If that fails, the agent works with its first options, but answers no requests.
  [[nodiscard]] static std::unique_ptr<Agent> create(clr::ProfilerInfo info, AgentOptions options);
  /// Only after `end`.
  ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Callbacks of the runtime.
  void compiled(const clr::Function& function, bool is_dynamic);
  void freed(clr::Id function);
  void loaded(clr::Id module);
  void unloaded(clr::Id module);
  void thread_began(const clr::Thread& thread);
  void thread_ended(clr::Id thread);

  /// Starts sampling if the first options ask for it. `is_late`: loaded into a process that has run for a while.
  [[nodiscard]] clr::Status begin(bool is_late);
  /// The process ends: stops sampling, writes the file and sends the last messages. Waits some seconds at most.
  void end();
  /// In a forked child, which has none of our threads and timers.
  void forget_after_fork();

 private:
  using Clock = std::chrono::steady_clock;
  /// All memory of one sampling; released at its end.
  struct Sampling {
    Sampling(clr::ProfilerInfo info, AgentOptions o);
    AgentOptions options;
    KnownCode code;
    RuntimeFrames frames;
    Recorder recorder;
    std::unique_ptr<Sampler> sampler;
    Clock::time_point began = Clock::now();
    bool is_for_recording = false;  ///< ends with the recording
    Clock::time_point next_log = Clock::now();
  };

  Agent(clr::ProfilerInfo info, AgentOptions options);
  [[nodiscard]] std::shared_ptr<Sampling> current() const;
  [[nodiscard]] Result<void> start(const AgentOptions& options, bool is_late);
  void make_room(Sampling& sampling);
  void stop();
  void write_out(Sampling& sampling) const;
  void log(const Sampling& sampling) const;

  // Requests of the command.
  [[nodiscard]] ControlServer::Hooks hooks();
  [[nodiscard]] agent_link::Report report() const;
  void add_facts(const Sampling& sampling, agent_link::Report& report) const;
  [[nodiscard]] agent_link::Bytes refusal(agent_link::RefusalCode code, std::string text) const;
  [[nodiscard]] agent_link::Bytes on_start(std::string_view settings);
  [[nodiscard]] agent_link::Bytes on_record(std::string_view settings, std::shared_ptr<Outbox> outbox);
  [[nodiscard]] agent_link::Bytes on_end_record(const Outbox* outbox);

  clr::ProfilerInfo info_;
  const AgentOptions first_options_;
  const pid_t pid_ = ::getpid();
  const Clock::time_point loaded_ = Clock::now();
  UnsampledThreads own_;
  std::unique_ptr<ControlServer> control_;

  std::mutex lifecycle_;  ///< serialises start and stop
  mutable std::mutex mutex_;
  std::shared_ptr<Sampling> current_;
  std::vector<std::shared_ptr<Sampling>> given_up_;  ///< a handler or thread may still use them
  agent_link::Report last_;                          ///< of the last sampling
};

}  // namespace mixstack::agent
