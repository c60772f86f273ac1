// What the profiler does with what the runtime tells it, and its samples.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "agent/clr.h"
#include "agent/code_header.h"
#include "agent/composite_image.h"
#include "agent/image_list.h"
#include "agent/managed_code.h"
#include "agent/method_numbers.h"
#include "agent/sample_ring.h"
#include "agent/stack_counts.h"
#include "memory/self_memory.h"
#include "mixstack/self_walk.h"

namespace mixstack::agent {

struct AgentOptions {
  unsigned hertz = 0;         ///< of CPU time of the process; 0: no samples
  std::string out;            ///< file for collapsed stacks, written at the end; empty: none
  bool walks_managed = true;  ///< else a walk ends where managed code begins (MIXSTACK_HYBRID_UNWINDING=0)
  bool explains = false;      ///< says on standard error what it did (MIXSTACK_DEBUG)

  /// MIXSTACK_AGENT_HZ, MIXSTACK_AGENT_OUT, MIXSTACK_HYBRID_UNWINDING, MIXSTACK_DEBUG.
  [[nodiscard]] static AgentOptions of_environment();
  /// The same names in lines of NAME=VALUE, as whoever attaches sends them.
  [[nodiscard]] static AgentOptions of_lines(std::string_view text);

 private:
  void set(std::string_view name, std::string_view value);
};

/// One in a process. Its callbacks come from any thread of the runtime; signal handlers use it until the process is
/// gone, so it is never destroyed.
class Agent {
 public:
  /// Errors: limit_exceeded (no memory), those of SelfWalker::create.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> create(clr::ProfilerInfo info, const AgentOptions& options);

  // What the runtime tells.
  void compiled(const clr::Function& function, bool is_dynamic);
  void freed(clr::Id function);
  void loaded(clr::Id module);
  /// All code of the module goes.
  void unloaded(clr::Id module);
  /// What was there before we were: modules, and what was compiled.
  void catch_up();

  /// Samples are taken from now on, by SIGPROF. Nothing with `hertz` 0.
  void begin();
  /// No more of them; writes what there is. Called once.
  void end();

 private:
  Agent(clr::ProfilerInfo info, AgentOptions options);
  void take(void* context);
  void drain();
  [[nodiscard]] bool is_known(const JitCode& code) const;
  [[nodiscard]] bool may_be_unloaded(clr::Id function);
  [[nodiscard]] std::string name_of(Address address, std::uint64_t method, bool is_exact) const;
  void write_report() const;
  void explain() const;

  /// For the handler, which gets no argument of ours.
  static std::atomic<Agent*> in_use_;

  clr::ProfilerInfo info_;
  AgentOptions options_;
  pid_t pid_ = ::getpid();
  memory::SelfMemory memory_;
  std::optional<CodeHeaderLayout> layout_;
  MethodNumbers methods_;
  JitMap jitted_;  ///< its methods are numbers of `methods_`
  ImageList images_;
  ModuleCode module_code_;
  ManagedCode rules_;
  std::unique_ptr<SelfWalker> walker_;
  SampleRing ring_;
  StackCounts counts_;
  std::mutex mutex_;
  std::unordered_map<clr::Id, std::vector<clr::Id>> collectible_;  ///< functions of modules that can be unloaded
  std::thread drain_;
  std::atomic<bool> is_ending_{false};
};

}  // namespace mixstack::agent
