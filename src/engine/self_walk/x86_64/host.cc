#include "engine/self_walk/host.h"

#include "base/system/byte_cursor.h"

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

  .p2align 4
  .globl mixstack_call_on_stack
  .hidden mixstack_call_on_stack
  .type mixstack_call_on_stack, @function
mixstack_call_on_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdx, %rsp
  call *%rsi
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size mixstack_call_on_stack, .-mixstack_call_on_stack

  # The first word of the frame is the return address that the kernel put there: code that calls rt_sigreturn.
  .p2align 4
  .globl mixstack_begin_handler
  .hidden mixstack_begin_handler
  .type mixstack_begin_handler, @function
mixstack_begin_handler:
  .cfi_startproc
  .cfi_undefined %rip
  movq %r8, %rsp
  xorl %eax, %eax
  jmp *%rcx
  .cfi_endproc
  .size mixstack_begin_handler, .-mixstack_begin_handler
)");

namespace mixstack::self_walk::host {
namespace {

using namespace x86_64_reg;  // NOLINT: the list below is of its names

constexpr std::size_t kContextRegisters = arch::x86_64::kCpu.signal_frame.registers;
constexpr std::size_t kOthers = 23;  ///< the word of a sigcontext that points to what XSAVE wrote
constexpr std::uint64_t kSizeOfOthers = 464, kLeastOthers = 512;
constexpr std::uint32_t kIsExtended = 0x46505853;  // FP_XSTATE_MAGIC1
constexpr Address kRedZone = 128, kAlignment = 64;
/// Words of a sigcontext: rax, where a call's number is and its answer, and rip.
constexpr std::size_t kAnswer = 13, kNext = 16;
/// Those of the first four arguments of a system call: rdi, rsi, rdx, r10.
constexpr std::array<std::size_t, 4> kArguments{8, 9, 12, 2};
constexpr std::array<unsigned, 8> kHereOrder{rip, rsp, rbp, rbx, r12, r13, r14, r15};

[[nodiscard]] std::uint64_t context_word(const void* context, std::size_t index) {
  std::uint64_t value;
  std::memcpy(&value, static_cast<const std::byte*>(context) + kContextRegisters + 8 * index, sizeof(value));
  return value;
}

void set_context_word(void* context, std::size_t index, std::uint64_t value) {
  std::memcpy(static_cast<std::byte*>(context) + kContextRegisters + 8 * index, &value, sizeof(value));
}

}  // namespace

AddressRange signal_frame(const siginfo_t* info, const void* context) {
  // struct rt_sigframe (arch/x86/include/asm/sigframe.h): return address, ucontext_t, siginfo_t; other registers above.
  const auto begin = reinterpret_cast<std::uintptr_t>(context) - sizeof(std::uint64_t);
  Address end = reinterpret_cast<std::uintptr_t>(info) + sizeof(siginfo_t);
  if (const std::uint64_t others = context_word(context, kOthers); others != 0) {
    // struct _fpx_sw_bytes in its last bytes says how large it is.
    std::array<std::uint32_t, 2> words;
    std::memcpy(words.data(), reinterpret_cast<const void*>(others + kSizeOfOthers), sizeof(words));
    end = others + (words[0] == kIsExtended ? words[1] : kLeastOthers);
  }
  return {begin, end};
}

Address place_below(Address sp, AddressRange frame) {
  const Address most = sp - kRedZone - frame.size();
  return most - ((most - frame.begin) & (kAlignment - 1));
}

void relocate_frame(void* context, std::uint64_t distance) {
  const std::uint64_t others = context_word(context, kOthers);
  if (others == 0) return;
  set_context_word(context, kOthers, others + distance);
}

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
std::int64_t call_result(const void* context) { return static_cast<std::int64_t>(context_word(context, kAnswer)); }
bool keeps_arguments() { return true; }
std::uint64_t call_argument(const void* context, unsigned index) { return context_word(context, kArguments[index]); }
void set_call_argument(void* context, unsigned index, std::uint64_t value) {
  set_context_word(context, kArguments[index], value);
}
void repeat_call(void* context, std::int64_t number) {
  set_context_word(context, kAnswer, static_cast<std::uint64_t>(number));
  set_context_word(context, kNext, context_word(context, kNext) - call_size());
}

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
