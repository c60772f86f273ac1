#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/mapped_libraries.h"
#include "frontends/stackwalker/process_registry.h"
#include "frontends/stackwalker/state_target.h"

namespace Dyninst::Stackwalker {

ProcessState::ProcessState(Dyninst::PID pid, std::string path) : executable_path(std::move(path)) {
  if (pid != 0) setPid(pid);
}

ProcessState::~ProcessState() {
  ProcessRegistry::get().remove(this);
  delete library_tracker;
}

void ProcessState::setPid(Dyninst::PID pid) {
  ProcessRegistry::get().remove(this);
  pid_ = pid;
  ProcessRegistry::get().add(pid, this);
}

ProcessState* ProcessState::getProcessStateByPid(Dyninst::PID pid) {
  ProcessState* state = ProcessRegistry::get().find(pid);
  if (state == nullptr) setLastError(err_noproc, "no ProcessState stands for this process");
  return state;
}

Dyninst::PID ProcessState::getProcessId() { return pid_; }
Walker* ProcessState::getWalker() const { return walker; }
bool ProcessState::preStackwalk(Dyninst::THR_ID) { return true; }
bool ProcessState::postStackwalk(Dyninst::THR_ID) { return true; }
bool ProcessState::isFirstParty() { return false; }

std::string ProcessState::getExecutablePath() {
  if (!executable_path.empty() || !engine_) return executable_path;
  return engine_->target().info().executable;
}

void ProcessState::setDefaultLibraryTracker() {
  if (library_tracker == nullptr) library_tracker = new MappedLibraries(this);
}

LibraryState* ProcessState::getLibraryTracker() {
  setDefaultLibraryTracker();
  return library_tracker;
}

std::unique_ptr<mixstack::Target> ProcessState::openTarget() {
  auto target = mixstack::stackwalker::open_state_target(*this);
  if (target) return std::move(*target);
  set_error(target.error(), "open the ProcessState");
  return nullptr;
}

}  // namespace Dyninst::Stackwalker
