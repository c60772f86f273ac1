#include "process/live/thread_registers.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace mixstack::process {

namespace {

/// A thread that was stopped a moment ago and is not any more has been killed; anything else is a refusal (seccomp).
Error no_registers(int error) {
  return {error == ESRCH ? ErrorCode::no_such_thread : ErrorCode::permission_denied, error, 0};
}

}  // namespace

Arch traceable_arch() { return Arch::x86_64; }

Result<RegisterSet> read_thread_registers(pid_t tid) {
  std::array<std::byte, x86_64::kRegisterSetSize> bytes;
  iovec v{bytes.data(), bytes.size()};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) != 0) return fail(no_registers(errno));
  return x86_64::decode_register_set(std::span<const std::byte>(bytes).first(v.iov_len));
}

std::uint64_t read_pac_mask(pid_t) { return 0; }

void read_thread_vectors(pid_t tid, VectorBytes& out) {
  iovec v{out.bytes.data(), out.bytes.size()};
  // Both notes begin with the FXSAVE area.
  if (::ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &v) != 0) {
    v.iov_len = out.bytes.size();
    if (::ptrace(PTRACE_GETREGSET, tid, NT_PRFPREG, &v) != 0) v.iov_len = 0;
  }
  out.size = v.iov_len;
}

}  // namespace mixstack::process
