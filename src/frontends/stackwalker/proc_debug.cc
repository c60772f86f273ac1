#include <poll.h>

#include <algorithm>
#include <optional>

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/process_registry.h"

namespace Dyninst::Stackwalker {

using mixstack::process::DebuggedProcess;
using mixstack::process::DebugOptions;
using mixstack::process::LaunchRequest;
using ProcControlAPI::Process;

/// One level of preStackwalk.
struct ProcDebug::Stop {
  THR_ID thread = NULL_THR_ID;
  mixstack::process::ThreadHold guard;
};

namespace {

const auto kStopTimeout = std::chrono::milliseconds(1000);

Process::ptr attach(PID pid, bool hold) {
  if (pid <= 0) {
    setLastError(err_badparam, "no process has this number");
    return nullptr;
  }
  auto* debugger = ProcessRegistry::get().debugger();
  if (debugger == nullptr) return nullptr;
  DebugOptions options;
  options.hold = hold;
  auto process = debugger->attach(static_cast<std::uint32_t>(pid), options);
  if (process) return WalkerAccess::make_process(std::move(*process));
  set_error(process.error(), "attach to the process");
  return nullptr;
}

/// False with the error set.
bool check(const mixstack::Result<void>& result, const char* doing) {
  if (result) return true;
  set_error(result.error(), doing);
  // The debugger has lost its process: it has ended, or was detached.
  if (result.error().code == mixstack::ErrorCode::not_found)
    setLastError(err_proccontrol, "the process is not debugged any more");
  if (result.error().code == mixstack::ErrorCode::no_such_process) setLastError(err_procexit);
  return false;
}

/// 0, which no thread has, if it is no thread id.
mixstack::ThreadId tid_of(THR_ID thread) { return engine_thread(thread).value_or(0); }

}  // namespace

ProcDebug::ProcDebug(Process::ptr proc) : ProcessState(proc->getPid()), proc_(std::move(proc)) {}

ProcDebug::~ProcDebug() {
  stops_.clear();
  // Other owners of the process keep it attached.
  if (proc_.use_count() == 1 && WalkerAccess::debugged(*proc_)->is_debugged())
    (void)WalkerAccess::debugged(*proc_)->detach();
}

ProcDebug* ProcDebug::newProcDebug(PID pid, std::string executable) {
  auto process = attach(pid, false);
  if (!process) return nullptr;
  auto* made = newProcDebug(std::move(process));
  if (made != nullptr) made->executable_path = std::move(executable);
  return made;
}

ProcDebug* ProcDebug::newProcDebug(Process::ptr proc) {
  if (!proc) {
    setLastError(err_badparam, "newProcDebug: no process");
    return nullptr;
  }
  if (!WalkerAccess::debugged(*proc)->is_debugged()) {
    setLastError(err_procexit, "newProcDebug: the process has ended or is not debugged any more");
    return nullptr;
  }
  return new ProcDebug(std::move(proc));
}

ProcDebug* ProcDebug::newProcDebug(std::string executable, const std::vector<std::string>& argv) {
  auto process = Process::createProcess(executable, argv);
  return process ? newProcDebug(std::move(process)) : nullptr;
}

bool ProcDebug::newProcDebugSet(const std::vector<PID>& pids, std::vector<ProcDebug*>& out_set) {
  clearLastError();
  std::vector<std::unique_ptr<ProcDebug>> made;
  for (const PID pid : pids) {
    made.emplace_back(newProcDebug(pid));
    if (!made.back()) return false;
  }
  for (auto& one : made) out_set.push_back(one.release());
  return !pids.empty() || failed(err_badparam, "newProcDebugSet: no processes");
}

std::unique_ptr<mixstack::Target> ProcDebug::openTarget() {
  auto target = WalkerAccess::debugged(*proc_)->open_target();
  if (target) return std::move(*target);
  (void)check(mixstack::fail(target.error()), "open the process");
  return nullptr;
}

bool ProcDebug::getRegValue(MachRegister reg, THR_ID thread, MachRegisterVal& val) {
  THR_ID tid = thread;
  if (tid == NULL_THR_ID && !getDefaultThread(tid)) return false;
  const auto& process = WalkerAccess::debugged(*proc_);
  const auto number = engine_register(process->info().arch, reg);
  if (!number) return failed(err_badparam, "no register of this CPU");
  const mixstack::ThreadId one[] = {tid_of(tid)};
  auto guard = process->stop(one, kStopTimeout);
  if (!guard) return check(mixstack::fail(guard.error()), "stop the thread");
  const auto registers = process->registers(tid_of(tid));
  if (!registers) return check(mixstack::fail(registers.error()), "read the registers");
  const auto value = registers->registers.get(*number);
  if (!value) return failed(err_unsupported, "the register is not known");
  val = *value;
  return true;
}

bool ProcDebug::readMem(void* dest, Address source, std::size_t size) {
  if (dest == nullptr && size != 0) return failed(err_badparam, "readMem: no buffer");
  const auto& process = WalkerAccess::debugged(*proc_);
  if (process->memory().read_exact(source, {static_cast<std::byte*>(dest), size})) return true;
  return failed(process->is_terminated() ? err_procexit : err_procread, nullptr);
}

bool ProcDebug::getThreadIds(std::vector<THR_ID>& threads) {
  const auto all = WalkerAccess::debugged(*proc_)->threads();
  if (!all) return check(mixstack::fail(all.error()), "list the threads");
  threads.assign(all->begin(), all->end());
  return true;
}

bool ProcDebug::getDefaultThread(THR_ID& default_tid) {
  std::vector<THR_ID> all;
  if (!getThreadIds(all)) return false;
  if (all.empty()) return failed(err_nothrd, nullptr);
  default_tid = all.front();  // the initial thread, unless it has ended
  return true;
}

unsigned ProcDebug::getAddressWidth() { return getArchAddressWidth(getArchitecture()); }
Architecture ProcDebug::getArchitecture() { return public_arch(WalkerAccess::debugged(*proc_)->info().arch); }
bool ProcDebug::isFirstParty() { return false; }

bool ProcDebug::preStackwalk(THR_ID tid) {
  THR_ID one = tid;
  if (one == NULL_THR_ID && !getDefaultThread(one)) return false;
  const mixstack::ThreadId list[] = {tid_of(one)};
  auto guard = WalkerAccess::debugged(*proc_)->stop(list, kStopTimeout);
  if (!guard) return check(mixstack::fail(guard.error()), "stop the thread");
  stops_.push_back({tid, std::move(*guard)});
  return true;
}

bool ProcDebug::postStackwalk(THR_ID tid) {
  const auto at = std::find_if(stops_.rbegin(), stops_.rend(), [tid](const Stop& s) { return s.thread == tid; });
  if (at == stops_.rend()) return failed(err_badparam, "postStackwalk without preStackwalk");
  stops_.erase(std::next(at).base());
  return true;
}

bool ProcDebug::pause(THR_ID tid) {
  clearLastError();
  const auto& process = WalkerAccess::debugged(*proc_);
  return check(tid == NULL_THR_ID ? process->pause() : process->pause(tid_of(tid)), "pause");
}

bool ProcDebug::resume(THR_ID tid) {
  clearLastError();
  const auto& process = WalkerAccess::debugged(*proc_);
  return check(tid == NULL_THR_ID ? process->resume() : process->resume(tid_of(tid)), "resume");
}

bool ProcDebug::isTerminated() { return WalkerAccess::debugged(*proc_)->is_terminated(); }

bool ProcDebug::detach(bool leave_stopped) {
  clearLastError();
  stops_.clear();
  return check(WalkerAccess::debugged(*proc_)->detach(leave_stopped), "detach");
}

Process::ptr ProcDebug::getProc() { return proc_; }

int ProcDebug::getNotificationFD() {
  auto* debugger = ProcessRegistry::get().debugger();
  return debugger != nullptr ? debugger->event_fd() : -1;
}

bool ProcDebug::handleDebugEvent(bool block) {
  clearLastError();
  auto* debugger = ProcessRegistry::get().present_debugger();
  if (debugger == nullptr || debugger->processes().empty()) {
    // Events of processes that have ended may still be waiting.
    if (debugger != nullptr && debugger->handle_events(false) != 0) return true;
    return failed(err_proccontrol, "nothing is debugged");
  }
  if (block) {
    pollfd ready{debugger->event_fd(), POLLIN, 0};
    if (::poll(&ready, 1, -1) < 0) return failed(err_interrupt, nullptr);
  }
  return debugger->handle_events(false) != 0;
}

}  // namespace Dyninst::Stackwalker

namespace Dyninst::ProcControlAPI {

using Stackwalker::WalkerAccess;

Process::Process(std::shared_ptr<mixstack::process::DebuggedProcess> process) : process_(std::move(process)) {}
Process::~Process() = default;

Process::ptr Process::attachProcess(Dyninst::PID pid, const std::string&) { return Stackwalker::attach(pid, true); }

Process::ptr Process::createProcess(const std::string& executable, const std::vector<std::string>& argv) {
  auto* debugger = Stackwalker::ProcessRegistry::get().debugger();
  if (debugger == nullptr) return nullptr;
  mixstack::process::LaunchRequest request;
  request.executable = executable;
  request.arguments = argv;
  auto process = debugger->launch(request);
  if (process) return WalkerAccess::make_process(std::move(*process));
  Stackwalker::set_error(process.error(), "start the program");
  return nullptr;
}

Dyninst::PID Process::getPid() const { return static_cast<Dyninst::PID>(process_->pid()); }
bool Process::continueProc() { return Stackwalker::check(process_->resume(), "continue"); }
bool Process::stopProc() { return Stackwalker::check(process_->pause(), "stop"); }
bool Process::isTerminated() const { return process_->is_terminated(); }
bool Process::isRunning() const { return process_->is_running(); }
bool Process::detach(bool leave_stopped) { return Stackwalker::check(process_->detach(leave_stopped), "detach"); }
bool Process::terminate() { return Stackwalker::check(process_->kill(), "terminate"); }

}  // namespace Dyninst::ProcControlAPI
