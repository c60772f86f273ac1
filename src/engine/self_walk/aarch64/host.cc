#include "engine/self_walk/host.h"

#include "base/system/byte_cursor.h"

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

  .p2align 4
  .globl mixstack_call_on_stack
  .hidden mixstack_call_on_stack
  .type mixstack_call_on_stack, %function
mixstack_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  mov sp, x2
  blr x1
  mov sp, x29
  .cfi_def_cfa_register sp
  ldp x29, x30, [sp], #16
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size mixstack_call_on_stack, .-mixstack_call_on_stack

  // Its return address leads to the instructions by which unwinders know such frames: rt_sigreturn. x29 leads to the
  // frame record that the kernel puts behind siginfo_t and ucontext_t; ours follow it as its caller does.
  .p2align 4
  .globl mixstack_begin_handler
  .hidden mixstack_begin_handler
  .type mixstack_begin_handler, %function
mixstack_begin_handler:
  mov x16, x3
  mov sp, x4
  mov x29, x5
  adr x30, 1f
  br x16
  nop
1:
  mov x8, #139
  svc #0
  .size mixstack_begin_handler, .-mixstack_begin_handler
)");

namespace mixstack::self_walk::host {
namespace {

constexpr std::size_t kContextRegisters = arch::aarch64::kCpu.signal_frame.registers;

[[nodiscard]] std::uint64_t context_word(const void* context, std::size_t index) {
  std::uint64_t value;
  std::memcpy(&value, static_cast<const std::byte*>(context) + kContextRegisters + 8 * index, sizeof(value));
  return value;
}

constexpr std::size_t kRecords = 464, kRecordBytes = 4096;  ///< `__reserved` of a ucontext_t's sigcontext
constexpr std::uint32_t kExtraMagic = 0x45585401;           // EXTRA_MAGIC
constexpr std::size_t kExtraAt = 8, kExtraSize = 16;        ///< in struct extra_context
constexpr Address kRedZone = 128;

/// The record that says where records lie for which there is no room; null: there are none.
[[nodiscard]] const std::byte* extra_record(const void* context) {
  const std::byte* record = static_cast<const std::byte*>(context) + kRecords;
  for (std::size_t left = kRecordBytes; left >= 2 * sizeof(std::uint32_t);) {
    std::array<std::uint32_t, 2> head;  // what it is, and its size
    std::memcpy(head.data(), record, sizeof(head));
    if (head[0] == kExtraMagic) return record;
    if (head[0] == 0 || head[1] < sizeof(head) || head[1] > left) return nullptr;
    record += head[1];
    left -= head[1];
  }
  return nullptr;
}

}  // namespace

AddressRange signal_frame(const siginfo_t* info, const void* context) {
  // struct rt_sigframe_user_layout (arch/arm64/kernel/signal.c): siginfo_t, ucontext_t, what has no room in it, and a
  // frame record.
  Address end = reinterpret_cast<std::uintptr_t>(context) + kRecords + kRecordBytes;
  if (const std::byte* extra = extra_record(context)) {
    std::uint64_t at;
    std::uint32_t size;
    std::memcpy(&at, extra + kExtraAt, sizeof(at));
    std::memcpy(&size, extra + kExtraSize, sizeof(size));
    end = at + size;
  }
  return {reinterpret_cast<std::uintptr_t>(info), ((end + 15) & ~Address{15}) + kFrameRecord};
}

Address place_below(Address sp, AddressRange frame) { return (sp - kRedZone - frame.size()) & ~Address{15}; }

void relocate_frame(void* context, std::uint64_t distance) {
  const std::byte* extra = extra_record(context);
  if (extra == nullptr) return;
  std::uint64_t at;
  std::memcpy(&at, extra + kExtraAt, sizeof(at));
  at += distance;
  std::memcpy(const_cast<std::byte*>(extra) + kExtraAt, &at, sizeof(at));
}

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

bool keeps_arguments() { return false; }
std::uint64_t call_argument(const void*, unsigned) { return 0; }
void set_call_argument(void*, unsigned, std::uint64_t) {}
void repeat_call(void*, std::int64_t) {}

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
