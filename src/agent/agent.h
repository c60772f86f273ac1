// What the profiler does with what the runtime tells it and what the command asks.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent_thread.h"
#include "agent/clr.h"
#include "agent/control_server.h"
#include "agent/known_code.h"
#include "agent/options.h"
#include "agent/recorder.h"
#include "agent/runtime_frames.h"
#include "agent/sampler.h"
#include "agent_link/protocol.h"

namespace mixstack::agent {

/// One in a process. Its callbacks come from any thread of the runtime, and the runtime keeps them until the process is
/// gone, so it is never destroyed. It samples or is silent: then the runtime tells it nothing, no memory is held for
/// code and samples, and one thread sleeps at the control socket.
class Agent {
 public:
  /// Opens the control socket; without one the agent works as it was asked to at first and cannot be asked anything.
  [[nodiscard]] static std::unique_ptr<Agent> create(clr::ProfilerInfo info, AgentOptions options);
  /// After `end`, which gives up what it cannot wait for; see there.
  ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // What the runtime tells.
  void compiled(const clr::Function& function, bool is_dynamic);
  void freed(clr::Id function);
  void loaded(clr::Id module);
  void unloaded(clr::Id module);
  void thread_began(const clr::Thread& thread);
  void thread_ended(clr::Id thread);

  /// As asked for when it was loaded: into a process that begins, or into one that has run (`is_late`).
  [[nodiscard]] clr::Status begin(bool is_late);
  /// The process ends: writes what there is and sends what is to be sent. Waits some seconds at most.
  void end();
  /// In a child made by fork, which has none of our threads and timers.
  void forget_after_fork();

 private:
  using Clock = std::chrono::steady_clock;
  /// All that sampling needs; given back when it is over.
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

  // What the command asks.
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
  OwnThreads own_;
  std::unique_ptr<ControlServer> control_;

  std::mutex lifecycle_;  ///< one starts or stops at a time
  mutable std::mutex mutex_;
  std::shared_ptr<Sampling> current_;
  std::vector<std::shared_ptr<Sampling>> given_up_;  ///< a handler or thread may still use them
  agent_link::Report last_;                          ///< of the sampling that is over
};

}  // namespace mixstack::agent
