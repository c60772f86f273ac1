#include "frontends/stackwalker/process_registry.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/library_changes.h"

namespace Dyninst::Stackwalker {

ProcessRegistry& ProcessRegistry::get() {
  // Never destroyed: static ProcessStates may be destroyed later than it would be.
  static auto* registry = new ProcessRegistry;
  return *registry;
}

void ProcessRegistry::add(PID pid, ProcessState* state) {
  const std::lock_guard lock(mutex_);
  states_.push_back({pid, state});
}

void ProcessRegistry::remove(const ProcessState* state) {
  const std::lock_guard telling(telling_);
  const std::lock_guard lock(mutex_);
  std::erase_if(states_, [state](const Entry& e) { return e.state == state; });
}

ProcessState* ProcessRegistry::find(PID pid) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(states_.rbegin(), states_.rend(), [pid](const Entry& e) { return e.pid == pid; });
  return at == states_.rend() ? nullptr : at->state;
}

/// Steppers are told of a loaded or unloaded library with its event, in the thread that handles it.
void ProcessRegistry::tell_walkers(const mixstack::process::DebugEvent& event) {
  using Kind = mixstack::process::DebugEventKind;
  if (event.kind != Kind::library_loaded && event.kind != Kind::library_unloaded) return;
  const LibAddrPair library(event.library.path, event.library.load_bias);
  const lib_change_t change = event.kind == Kind::library_loaded ? library_load : library_unload;
  const std::lock_guard telling(telling_);
  std::vector<Entry> of_process;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(states_.begin(), states_.end(), std::back_inserter(of_process),
                 [&](const Entry& e) { return e.pid == static_cast<PID>(event.pid); });
  }
  for (const Entry& e : of_process) {
    // A callback before this one may have destroyed this ProcessState.
    const auto is_it = [&](const Entry& other) { return other.state == e.state; };
    std::unique_lock lock(mutex_);
    const bool is_there = std::any_of(states_.begin(), states_.end(), is_it);
    lock.unlock();
    if (is_there && e.state->getWalker() != nullptr) tell_change(*e.state->getWalker(), library, change);
  }
}

mixstack::process::DebugSession* ProcessRegistry::debugger() {
  const std::lock_guard lock(mutex_);
  if (debugger_ && owner_ == ::getpid()) return debugger_.get();
  // The parent owns its tracer: do not end it.
  if (debugger_) (void)debugger_.release();
  auto opened = mixstack::process::DebugSession::open();
  if (!opened) {
    set_error(opened.error(), "start the debugger");
    return nullptr;
  }
  debugger_ = std::move(*opened);
  owner_ = ::getpid();
  (void)debugger_->add_handler([this](const mixstack::process::DebugEvent& event) { tell_walkers(event); });
  return debugger_.get();
}

mixstack::process::DebugSession* ProcessRegistry::present_debugger() {
  const std::lock_guard lock(mutex_);
  return debugger_ && owner_ == ::getpid() ? debugger_.get() : nullptr;
}

}  // namespace Dyninst::Stackwalker
