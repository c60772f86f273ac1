// Entry points of libmixstack_agent.so for the runtime: a class factory and an ICorProfilerCallback, as vtables of
// functions whose first argument is the object.
#include <pthread.h>

#include <array>
#include <atomic>
#include <string_view>
#include <utility>

#include "agent/in_process/agent.h"

namespace mixstack::agent {
namespace {

using clr::Guid;
using clr::Status;

/// A global, since the runtime passes callbacks no argument of ours. Never destroyed, see Agent.
std::atomic<Agent*> the_agent{nullptr};

struct Object {
  void** table;
};

Status query(void* self, const Guid*, void** out) {
  *out = self;
  return clr::kOk;
}
std::uint32_t count_reference(void*) { return 1; }
Status ignore() { return clr::kOk; }

Status make_agent(void* unknown, const AgentOptions& options) {
  const auto info = clr::ProfilerInfo::of(unknown);
  if (!info) return clr::kFailed;
  the_agent = Agent::create(*info, options).release();
  (void)::pthread_atfork(nullptr, nullptr, [] { the_agent.load()->forget_after_fork(); });
  return clr::kOk;
}
Status initialize(void*, void* unknown) {
  const Status status = make_agent(unknown, AgentOptions::of_environment());
  if (status < 0) return status;
  const Status begun = the_agent.load()->begin(false);
  // The runtime drops a profiler that could not begin: nobody should find one at its control socket then.
  if (begun < 0) the_agent.load()->end();
  return begun;
}
Status attach(void*, void* unknown, const char* data, std::uint32_t size) {
  const std::string_view text = data == nullptr ? std::string_view() : std::string_view(data, size);
  return make_agent(unknown, AgentOptions::of_lines(text));
}
Status attached(void*) {
  (void)the_agent.load()->begin(true);
  return clr::kOk;
}
Status shut_down(void*) {
  the_agent.load()->end();
  return clr::kOk;
}
Status module_loaded(void*, clr::Id module, Status) {
  the_agent.load()->loaded(module);
  return clr::kOk;
}
Status module_unloads(void*, clr::Id module) {
  the_agent.load()->unloaded(module);
  return clr::kOk;
}
Status compiled(void*, clr::Id function, Status result, int) {
  if (result >= 0) the_agent.load()->compiled({function, 0}, false);
  return clr::kOk;
}
Status recompiled(void*, clr::Id function, clr::Id rejit, Status result, int) {
  if (result >= 0) the_agent.load()->compiled({function, rejit}, false);
  return clr::kOk;
}
Status dynamic_compiled(void*, clr::Id function, Status result, int) {
  if (result >= 0) the_agent.load()->compiled({function, 0}, true);
  return clr::kOk;
}
Status dynamic_unloaded(void*, clr::Id function) {
  the_agent.load()->freed(function);
  return clr::kOk;
}
Status thread_ended(void*, clr::Id thread) {
  the_agent.load()->thread_ended(thread);
  return clr::kOk;
}
Status thread_has_number(void*, clr::Id thread, std::uint32_t tid) {
  the_agent.load()->thread_began({thread, tid});
  return clr::kOk;
}

template <std::size_t N>
std::array<void*, N> table_of(std::initializer_list<std::pair<std::size_t, void*>> functions) {
  std::array<void*, N> table;
  table.fill(reinterpret_cast<void*>(ignore));
  table[0] = reinterpret_cast<void*>(query);
  table[1] = table[2] = reinterpret_cast<void*>(count_reference);
  for (const auto& [slot, function] : functions) table[slot] = function;
  return table;
}

Status create_instance(void*, void*, const Guid*, void** out) {
  // ICorProfilerCallback11 has 98 methods. More slots, so that a later runtime calls `ignore` instead of garbage.
  static std::array<void*, 128> table = table_of<128>({{3, reinterpret_cast<void*>(initialize)},
                                                       {4, reinterpret_cast<void*>(shut_down)},
                                                       {14, reinterpret_cast<void*>(module_loaded)},
                                                       {15, reinterpret_cast<void*>(module_unloads)},
                                                       {24, reinterpret_cast<void*>(compiled)},
                                                       {30, reinterpret_cast<void*>(thread_ended)},
                                                       {31, reinterpret_cast<void*>(thread_has_number)},
                                                       {80, reinterpret_cast<void*>(attach)},
                                                       {81, reinterpret_cast<void*>(attached)},
                                                       {85, reinterpret_cast<void*>(recompiled)},
                                                       {93, reinterpret_cast<void*>(dynamic_compiled)},
                                                       {94, reinterpret_cast<void*>(dynamic_unloaded)}});
  static Object callback{table.data()};
  *out = &callback;
  return clr::kOk;
}

}  // namespace
}  // namespace mixstack::agent

extern "C" {
// The runtime looks these names up.
[[gnu::visibility("default")]] std::int32_t DllGetClassObject(const mixstack::agent::clr::Guid*,
                                                              const mixstack::agent::clr::Guid*, void** out) {
  using namespace mixstack::agent;
  static std::array<void*, 5> table = table_of<5>({{3, reinterpret_cast<void*>(create_instance)}});
  static Object factory{table.data()};
  *out = &factory;
  return clr::kOk;
}
[[gnu::visibility("default")]] std::int32_t DllCanUnloadNow() { return 1; }
}
