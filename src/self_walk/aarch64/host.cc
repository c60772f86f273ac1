#include "self_walk/host.h"

#include "base/byte_cursor.h"

// Stores the pc and sp as they are behind the call, x29, x30 (which is the pc), x19 to x28.
asm(R"(
  .text
  .p2align 4
  .globl mixstack_capture_here
  .hidden mixstack_capture_here
  .type mixstack_capture_here, %function
mixstack_capture_here:
  .cfi_startproc
  mov x9, sp
  stp x30, x9, [x0]
  stp x29, x30, [x0, #16]
  stp x19, x20, [x0, #32]
  stp x21, x22, [x0, #48]
  stp x23, x24, [x0, #64]
  stp x25, x26, [x0, #80]
  stp x27, x28, [x0, #96]
  ret
  .cfi_endproc
  .size mixstack_capture_here, .-mixstack_capture_here
)");

namespace mixstack::self_walk::host {
namespace {

constexpr std::size_t kContextRegisters = arch::aarch64::kCpu.signal_frame.registers;

[[nodiscard]] std::uint64_t context_word(const void* context, std::size_t index) {
  std::uint64_t value;
  std::memcpy(&value, static_cast<const std::byte*>(context) + kContextRegisters + 8 * index, sizeof(value));
  return value;
}

}  // namespace

Arch arch() { return Arch::aarch64; }

Address thread_pointer() {
  Address pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

Address stack_pointer() {
  Address pointer;
  asm volatile("mov %0, sp" : "=r"(pointer));
  return pointer;
}

unsigned call_size() { return 4; }
std::int64_t call_result(const void* context) {
  return static_cast<std::int64_t>(context_word(context, aarch64_reg::x0));
}

unwind::LightFrame light_frame(const void* context) {
  unwind::LightFrame frame;
  frame.fp = context_word(context, aarch64_reg::fp);
  frame.lr = context_word(context, aarch64_reg::lr);
  frame.sp = context_word(context, aarch64_reg::sp);
  frame.pc = CodeAddress::exact(context_word(context, aarch64_reg::pc));
  return frame;
}

unwind::LightFrame light_frame(const HereRegisters& here) {
  unwind::LightFrame frame;
  frame.pc = CodeAddress::after_call(here.values[0]);
  frame.sp = here.values[1];
  frame.fp = here.values[2];
  frame.lr = here.values[3];
  return frame;
}

Registers registers_of(const HereRegisters& here) {
  Registers registers(Arch::aarch64);
  registers.set_pc(here.values[0]);
  registers.set_sp(here.values[1]);
  registers.set(aarch64_reg::x29, here.values[2]);
  registers.set(aarch64_reg::lr, here.values[3]);
  for (unsigned i = 0; i < 10; i++) registers.set(aarch64_reg::x19 + i, here.values[4 + i]);
  return registers;
}

}  // namespace mixstack::self_walk::host
