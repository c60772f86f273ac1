#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/memory/process_memory.h"
#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "process/self/self_target.h"

namespace Dyninst::Stackwalker {
namespace {

THR_ID own_tid() { return static_cast<THR_ID>(::syscall(SYS_gettid)); }

}  // namespace

ProcSelf::ProcSelf(std::string exe_path) : ProcessState(::getpid(), std::move(exe_path)) {}
ProcSelf::~ProcSelf() = default;
void ProcSelf::initialize() {}

__attribute__((noinline)) bool ProcSelf::getRegValue(MachRegister reg, THR_ID thread, MachRegisterVal& val) {
  const auto boundary = reinterpret_cast<Address>(__builtin_dwarf_cfa());
  if (thread != NULL_THR_ID && thread != own_tid())
    return failed(err_unsupported, "a first party walk is of the calling thread");
  // A walk in progress keeps its capture.
  if (const auto open = WalkerAccess::open_engine(*this); open && open->is_walking())
    WalkerAccess::forget_engine(*this);
  const auto engine = WalkerAccess::engine(this);
  if (!engine) return false;
  const auto number = engine_register(engine->target().info().arch, reg);
  if (!number) return failed(err_badparam, "no register of this CPU");
  if (const auto captured = engine->capture(static_cast<mixstack::ThreadId>(own_tid())); !captured) {
    set_error(captured.error(), "read our own registers");
    return false;
  }
  auto place = engine->initial();
  while (place && place->frame.sp < boundary) {
    const Engine::Step step = engine->step(*place);
    if (step.status != mixstack::StepStatus::caller) return failed(err_internal, "cannot leave the library's frames");
    place = step.caller;
  }
  const auto value = place ? place->registers.get(*number) : std::nullopt;
  if (!value) return failed(err_unsupported, "the register does not survive a call");
  val = *value;
  return true;
}

bool ProcSelf::readMem(void* dest, Address source, std::size_t size) {
  if (dest == nullptr && size != 0) return failed(err_badparam, "readMem: no buffer");
  const mixstack::memory::ProcessMemory memory(static_cast<std::uint32_t>(::getpid()));
  if (memory.read_exact(source, {static_cast<std::byte*>(dest), size})) return true;
  return failed(err_procread, nullptr);
}

bool ProcSelf::getThreadIds(std::vector<THR_ID>& threads) {
  threads.assign(1, own_tid());
  return true;
}

bool ProcSelf::getDefaultThread(THR_ID& default_tid) {
  default_tid = own_tid();
  return true;
}

unsigned ProcSelf::getAddressWidth() { return sizeof(void*); }

Architecture ProcSelf::getArchitecture() {
  const auto engine = WalkerAccess::engine(this);
  return engine ? public_arch(engine->target().info().arch) : Arch_none;
}

bool ProcSelf::isFirstParty() { return true; }

std::unique_ptr<mixstack::Target> ProcSelf::openTarget() {
  auto target = mixstack::process::open_self();
  if (target) return std::move(*target);
  set_error(target.error(), "open our own process");
  return nullptr;
}

}  // namespace Dyninst::Stackwalker
