#include "bpf/task_iterator.h"
#include "target/live/thread_registers.h"

namespace mixstack::bpf {

Result<target::RegisterSet> ThreadState::registers() const {
  const Arch arch = target::traceable_arch();
  const std::size_t size = target::register_set_size(arch);
  if (register_bytes.size() < size) return fail(ErrorCode::invalid_argument, tid);
  auto set = target::decode_register_set(arch, register_bytes.first(size));
  if (!set) return set;
  set->thread_pointer = thread_pointer;
  if (set->syscall < 0) set->syscall = system_call;
  return set;
}

}  // namespace mixstack::bpf
