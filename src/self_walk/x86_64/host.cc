#include "self_walk/host.h"

#include "base/byte_cursor.h"

// Stores rip, rsp as they are behind the call, rbp, rbx, r12 to r15.
asm(R"(
  .text
  .p2align 4
  .globl mixstack_capture_here
  .hidden mixstack_capture_here
  .type mixstack_capture_here, @function
mixstack_capture_here:
  .cfi_startproc
  movq (%rsp), %rax
  leaq 8(%rsp), %rdx
  movq %rax, (%rdi)
  movq %rdx, 8(%rdi)
  movq %rbp, 16(%rdi)
  movq %rbx, 24(%rdi)
  movq %r12, 32(%rdi)
  movq %r13, 40(%rdi)
  movq %r14, 48(%rdi)
  movq %r15, 56(%rdi)
  ret
  .cfi_endproc
  .size mixstack_capture_here, .-mixstack_capture_here
)");

namespace mixstack::self_walk::host {
namespace {

using namespace x86_64_reg;  // NOLINT: the list below is of its names

constexpr std::size_t kContextRegisters = arch::x86_64::kCpu.signal_frame.registers;
constexpr std::array<unsigned, 8> kHereOrder{rip, rsp, rbp, rbx, r12, r13, r14, r15};

[[nodiscard]] std::uint64_t context_word(const void* context, std::size_t index) {
  std::uint64_t value;
  std::memcpy(&value, static_cast<const std::byte*>(context) + kContextRegisters + 8 * index, sizeof(value));
  return value;
}

}  // namespace

Arch arch() { return Arch::x86_64; }

Address thread_pointer() {
  // The first word of the control block is its own address (System V ABI for TLS, variant II).
  Address pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

Address stack_pointer() {
  Address pointer;
  asm volatile("movq %%rsp, %0" : "=r"(pointer));
  return pointer;
}

unsigned call_size() { return 2; }
std::int64_t call_result(const void* context) { return static_cast<std::int64_t>(context_word(context, 13)); }

unwind::LightFrame light_frame(const void* context) {
  unwind::LightFrame frame;
  frame.fp = context_word(context, 10);
  frame.sp = context_word(context, 15);
  frame.pc = CodeAddress::exact(context_word(context, 16));
  return frame;
}

unwind::LightFrame light_frame(const HereRegisters& here) {
  unwind::LightFrame frame;
  frame.pc = CodeAddress::after_call(here.values[0]);
  frame.sp = here.values[1];
  frame.fp = here.values[2];
  return frame;
}

Registers registers_of(const HereRegisters& here) {
  Registers registers(Arch::x86_64);
  for (std::size_t i = 0; i < kHereOrder.size(); i++) registers.set(kHereOrder[i], here.values[i]);
  return registers;
}

}  // namespace mixstack::self_walk::host
