#include "stackwalker/walker.h"

#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/library_changes.h"
#include "frontends/stackwalker/process_registry.h"
#include "frontends/stackwalker/reader_lookup.h"
#include "frontends/stackwalker/symtab_store.h"
#include "frontends/stackwalker/walk.h"

// Frames below the caller's stack pointer belong to this library.
#define MIXSTACK_CALLERS_SP() (reinterpret_cast<Address>(__builtin_dwarf_cfa()))

namespace Dyninst::Stackwalker {

Walker::Walker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Walker::~Walker() {
  // First of all, so that no event reaches a Walker under destruction.
  ProcessRegistry::get().remove(parts_->proc.get());
  parts_->life.reset();
  if (parts_->proc) WalkerAccess::adopt(*parts_->proc, nullptr);
}

Walker* WalkerAccess::make(std::unique_ptr<ProcessState> proc, std::unique_ptr<StepperGroup> group,
                           std::unique_ptr<SymbolLookup> lookup, bool default_steppers) {
  if (!engine(proc.get())) {
    // On failure the arguments stay the caller's.
    (void)proc.release(), (void)group.release(), (void)lookup.release();
    return nullptr;
  }
  auto parts = std::make_unique<Walker::Parts>();
  parts->own_group = !group;
  parts->proc = std::move(proc);
  parts->symtabs = std::make_shared<SymtabAPI::SymtabStore>();
  std::unique_ptr<Walker> walker(new Walker(std::move(parts)));
  Walker::Parts& made = *walker->parts_;
  made.group = group ? std::move(group) : std::make_unique<AddrRangeGroup>(walker.get());
  made.lookup = lookup ? std::move(lookup) : std::make_unique<SwkSymtab>(made.proc->getExecutablePath());
  made.symbol_reader = users_symbol_reader();
  adopt(*made.proc, walker.get());
  adopt(*made.group, walker.get());
  adopt(*made.lookup, walker.get());
  if (default_steppers) {
    made.defaults = std::make_unique<DefaultSteppers>(walker.get());
    for (FrameStepper* stepper : made.defaults->all()) (void)made.group->addStepper(stepper);
  }
  know_libraries(*walker, *made.proc->engine_);
  return walker.release();
}

namespace {

/// For objects that we made ourselves: freed if no Walker is made.
Walker* make_walker(std::unique_ptr<ProcessState> proc) {
  if (!proc) return nullptr;
  ProcessState* kept = proc.get();
  Walker* walker = WalkerAccess::make(std::move(proc), nullptr, nullptr, true);
  if (walker == nullptr) delete kept;
  return walker;
}

}  // namespace

Walker* Walker::newWalker() { return newWalker(std::string()); }

Walker* Walker::newWalker(std::string executable) {
  clearLastError();
  return make_walker(std::make_unique<ProcSelf>(std::move(executable)));
}

Walker* Walker::newWalker(Dyninst::PID pid) { return newWalker(pid, std::string()); }

Walker* Walker::newWalker(Dyninst::PID pid, std::string executable) {
  clearLastError();
  return make_walker(std::unique_ptr<ProcessState>(ProcDebug::newProcDebug(pid, std::move(executable))));
}

Walker* Walker::newWalker(Dyninst::ProcControlAPI::Process::ptr proc) {
  clearLastError();
  return make_walker(std::unique_ptr<ProcessState>(ProcDebug::newProcDebug(std::move(proc))));
}

Walker* Walker::newWalker(std::string executable, const std::vector<std::string>& argv) {
  clearLastError();
  return make_walker(std::unique_ptr<ProcessState>(ProcDebug::newProcDebug(std::move(executable), argv)));
}

Walker* Walker::newWalker(ProcessState* proc, StepperGroup* steppergroup, SymbolLookup* lookup, bool default_steppers) {
  clearLastError();
  if (proc == nullptr) {
    setLastError(err_badparam, "newWalker: no ProcessState");
    return nullptr;
  }
  if (proc->getWalker() != nullptr) {
    setLastError(err_badparam, "newWalker: the ProcessState has a Walker already");
    return nullptr;
  }
  return WalkerAccess::make(std::unique_ptr<ProcessState>(proc), std::unique_ptr<StepperGroup>(steppergroup),
                            std::unique_ptr<SymbolLookup>(lookup), default_steppers);
}

bool Walker::newWalker(const std::vector<Dyninst::PID>& pids, std::vector<Walker*>& walkers_out) {
  return newWalker(pids, walkers_out, std::string());
}

bool Walker::newWalker(const std::vector<Dyninst::PID>& pids, std::vector<Walker*>& walkers_out,
                       std::string executable) {
  clearLastError();
  if (pids.empty()) return failed(err_badparam, "newWalker: no processes");
  std::vector<std::unique_ptr<Walker>> made;
  for (const PID pid : pids) {
    made.emplace_back(newWalker(pid, executable));
    if (!made.back()) return false;
  }
  for (auto& walker : made) walkers_out.push_back(walker.release());
  return true;
}

__attribute__((noinline)) bool Walker::walkStack(std::vector<Frame>& stackwalk, Dyninst::THR_ID thread) {
  clearLastError();
  stackwalk.clear();
  const Address boundary = parts_->proc->isFirstParty() ? MIXSTACK_CALLERS_SP() : 0;
  const THR_ID tid = WalkerAccess::actual_thread(*this, thread);
  if (tid == NULL_THR_ID) return false;
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const FoundFrames> walk;
  {
    StopScope scope(*this, tid);
    if (!scope) return false;
    engine = WalkerAccess::capture(*this, tid);
    if (!engine) return false;
    if (!is_engines(*this)) {
      Frame top;
      if (!find_top(*this, engine, tid, boundary, top)) return false;
      stackwalk.push_back(std::move(top));
      return walk_by_group(*this, stackwalk);
    }
    // Users' steppers read the target itself: it stays stopped until they are done.
    if (has_users_steppers(*this)) walk = walk_whole(*this, engine, tid, boundary);
  }
  if (!walk) walk = walk_whole(*this, engine, tid, boundary);
  return deliver(*this, walk, 0, stackwalk);
}

bool Walker::walkStackFromFrame(std::vector<Frame>& stackwalk, const Frame& frame) {
  clearLastError();
  const Frame first = frame;  // it may lie in the vector
  stackwalk.clear();
  if (first.getWalker() != this) return failed(err_badparam, "the frame belongs to another Walker, or to none");
  StopScope scope(*this, first.getThread());
  if (!scope) return false;
  if (is_engines(*this)) return walk_on(*this, first, stackwalk);
  if (!FrameAccess::place(*this, first)) return false;
  stackwalk.push_back(first);
  return walk_by_group(*this, stackwalk);
}

bool Walker::walkSingleFrame(const Frame& in, Frame& out) {
  clearLastError();
  if (in.getWalker() != this) return failed(err_badparam, "the frame belongs to another Walker, or to none");
  const Frame from = in;  // it may be `out`
  StopScope scope(*this, from.getThread());
  if (!scope) return false;
  std::size_t index = 0;
  if (const auto walk = walk_around(*this, from, index)) {
    if (index + 1 == walk->frames.size()) return failed(walk->error, walk->error_text.c_str());
    out = FrameAccess::make(this, walk, index + 1);
    clearLastError();
    return true;
  }
  if (is_engines(*this)) return step_on(*this, from, out);
  if (!step_by_group(*this, from, out)) return false;
  Frame beyond;
  if (!step_by_group(*this, out, beyond) && getLastError() == err_stackbottom) FrameAccess::mark_bottom(out);
  clearLastError();
  return true;
}

__attribute__((noinline)) bool Walker::getInitialFrame(Frame& frame, Dyninst::THR_ID thread) {
  clearLastError();
  const Address boundary = parts_->proc->isFirstParty() ? MIXSTACK_CALLERS_SP() : 0;
  const THR_ID tid = WalkerAccess::actual_thread(*this, thread);
  if (tid == NULL_THR_ID) return false;
  StopScope scope(*this, tid);
  if (!scope) return false;
  const auto engine = WalkerAccess::capture(*this, tid);
  return engine && find_top(*this, engine, tid, boundary, frame);
}

bool Walker::getAvailableThreads(std::vector<Dyninst::THR_ID>& threads) const {
  clearLastError();
  threads.clear();
  try {
    if (parts_->proc->getThreadIds(threads)) return true;
  } catch (...) {
    return failed(err_internal, "the ProcessState threw an exception");
  }
  if (getLastError() == 0) setLastError(err_nothrd);
  return false;
}

ProcessState* Walker::getProcessState() const { return parts_->proc.get(); }
StepperGroup* Walker::getStepperGroup() const { return parts_->group.get(); }
SymbolLookup* Walker::getSymbolLookup() const { return parts_->lookup.get(); }

bool Walker::addStepper(FrameStepper* stepper) {
  clearLastError();
  return parts_->group->addStepper(stepper);
}

void Walker::version(int& major, int& minor, int& maintenance) {
  major = MIXSTACK_VERSION_MAJOR;
  minor = MIXSTACK_VERSION_MINOR;
  maintenance = MIXSTACK_VERSION_PATCH;
}

}  // namespace Dyninst::Stackwalker
