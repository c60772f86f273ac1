#include "process/live/thread_registers.h"

#include <asm/ptrace.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "base/arch/cpu.h"

namespace mixstack::process {
namespace {

template <class T>
void read_set(pid_t tid, int note, T& value) {
  T read{};
  iovec v{&read, sizeof read};
  if (::ptrace(PTRACE_GETREGSET, tid, note, &v) == 0 && v.iov_len == sizeof read) value = read;
}

[[nodiscard]] bool has_sve() { return (::getauxval(AT_HWCAP) & HWCAP_SVE) != 0; }

/// A thread that was stopped a moment ago and is not any more has been killed; anything else is a refusal (seccomp).
Error no_registers(int error) {
  return {error == ESRCH ? ErrorCode::no_such_thread : ErrorCode::permission_denied, error, 0};
}

}  // namespace

Arch traceable_arch() { return Arch::aarch64; }

Result<RegisterSet> read_thread_registers(pid_t tid) {
  std::array<std::byte, aarch64::kRegisterSetSize> bytes;
  iovec v{bytes.data(), bytes.size()};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) != 0) return fail(no_registers(errno));
  auto set = aarch64::decode_register_set(std::span<const std::byte>(bytes).first(v.iov_len));
  if (!set) return set;
  int syscall = -1;
  read_set(tid, NT_ARM_SYSTEM_CALL, syscall);
  read_set(tid, NT_ARM_TLS, set->thread_pointer);
  set->syscall = syscall < 0 ? -1 : syscall;
  if (has_sve()) {
    user_sve_header sve{};  // the kernel gives as much as there is room for
    read_set(tid, NT_ARM_SVE, sve);
    if (const auto words = arch::cpu(Arch::aarch64).vector_length.words(sve.vl))
      set->registers.set(aarch64_reg::vg, *words);
  }
  return set;
}

std::uint64_t read_pac_mask(pid_t tid) {
  struct {
    std::uint64_t data, code;  // struct user_pac_mask, arch/arm64/include/uapi/asm/ptrace.h
  } mask{};
  read_set(tid, NT_ARM_PAC_MASK, mask);
  return mask.code;
}

void read_thread_vectors(pid_t tid, VectorBytes& out) {
  iovec v{out.bytes.data(), out.bytes.size()};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRFPREG, &v) != 0) v.iov_len = 0;
  out.size = v.iov_len;
}

}  // namespace mixstack::process
