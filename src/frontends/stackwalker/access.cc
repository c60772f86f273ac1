#include "frontends/stackwalker/access.h"

#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/library_changes.h"
#include "frontends/stackwalker/state_target.h"

namespace Dyninst::Stackwalker {

namespace {

/// Sets the error for a process that was there before: it has ended, or its debugger has detached.
void set_capture_error(const mixstack::Error& error) {
  set_error(error, "capture the thread");
  if (error.code == mixstack::ErrorCode::no_such_process) setLastError(err_procexit);
  if (error.code == mixstack::ErrorCode::not_found)
    setLastError(err_proccontrol, "the process is not debugged any more");
}

}  // namespace

std::shared_ptr<Engine> WalkerAccess::engine(ProcessState* proc) {
  if (proc == nullptr) {
    setLastError(err_badparam, "no ProcessState");
    return nullptr;
  }
  if (proc->engine_) return proc->engine_;
  std::unique_ptr<mixstack::Target> target;
  try {
    target = proc->openTarget();
  } catch (...) {
    setLastError(err_internal, "the ProcessState threw an exception");
  }
  if (!target) return nullptr;
  auto opened = Engine::open(std::move(target));
  if (!opened) {
    set_error(opened.error(), "open the process");
    return nullptr;
  }
  proc->engine_ = std::move(*opened);
  return proc->engine_;
}

std::shared_ptr<Engine> WalkerAccess::engine(const Walker* walker) {
  if (walker == nullptr) {
    setLastError(err_badparam, "no Walker");
    return nullptr;
  }
  return engine(walker->getProcessState());
}

THR_ID WalkerAccess::actual_thread(Walker& walker, THR_ID thread) {
  if (thread != NULL_THR_ID) return thread;
  THR_ID tid = NULL_THR_ID;
  try {
    if (walker.getProcessState()->getDefaultThread(tid) && tid != NULL_THR_ID) return tid;
    std::vector<THR_ID> all;
    if (walker.getProcessState()->getThreadIds(all) && !all.empty()) return all.front();
  } catch (...) {
    setLastError(err_internal, "the ProcessState threw an exception");
    return NULL_THR_ID;
  }
  if (getLastError() == 0) setLastError(err_nothrd, "the process has no default thread");
  return NULL_THR_ID;
}

std::shared_ptr<Engine> WalkerAccess::capture(Walker& walker, THR_ID thread) {
  const THR_ID tid = actual_thread(walker, thread);
  if (tid == NULL_THR_ID) return nullptr;
  ProcessState& proc = *walker.getProcessState();
  // A nested walk (by a user's stepper) needs a capture of its own.
  if (proc.engine_ && proc.engine_->is_walking()) forget_engine(proc);
  for (const bool again : {false, true}) {
    auto engine = WalkerAccess::engine(&proc);
    if (!engine) return nullptr;
    const auto id = engine->number_of(tid);
    if (!id) {
      setLastError(err_nothrd);
      return nullptr;
    }
    const auto captured = engine->capture(*id);
    if (captured) {
      if (parts(walker).depth != 0) parts(walker).scope_capture = engine->capture_id();
      engine->target_stands(parts(walker).depth != 0);
      tell_changes(walker, *engine);
      return engine;
    }
    // The process has executed another program: open a new engine.
    if (captured.error().code == mixstack::ErrorCode::process_changed) forget_engine(proc);
    if (again || captured.error().code != mixstack::ErrorCode::process_changed) {
      set_capture_error(captured.error());
      return nullptr;
    }
  }
  return nullptr;
}

void WalkerAccess::adopt(FrameStepper& stepper, Walker* walker) {
  if (stepper.walker == nullptr) stepper.walker = walker;
}

ProcControlAPI::Process::ptr WalkerAccess::make_process(std::shared_ptr<mixstack::process::DebuggedProcess> process) {
  return ProcControlAPI::Process::ptr(new ProcControlAPI::Process(std::move(process)));
}

std::shared_ptr<SymtabAPI::SymtabStore> WalkerAccess::symtabs(const Walker* walker) {
  return walker != nullptr ? parts(*walker).symtabs : nullptr;
}

}  // namespace Dyninst::Stackwalker
