#include "process/bpf/task_iterator.h"
#include "process/live/thread_registers.h"

namespace mixstack::bpf {

Result<process::RegisterSet> ThreadState::registers() const {
  const Arch arch = process::traceable_arch();
  const std::size_t size = process::register_set_size(arch);
  if (register_bytes.size() < size) return fail(ErrorCode::invalid_argument, tid);
  auto set = process::decode_register_set(arch, register_bytes.first(size));
  if (!set) return set;
  set->thread_pointer = thread_pointer;
  if (set->syscall < 0) set->syscall = system_call;
  return set;
}

}  // namespace mixstack::bpf
