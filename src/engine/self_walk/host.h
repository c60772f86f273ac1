// The parts that depend on our own CPU; twins in x86_64/ and aarch64/.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>

#include "base/arch/user_context.h"
#include "engine/unwind/rule_step.h"
#include "mixstack/registers.h"

namespace mixstack::self_walk {

/// Registers of a function where it called `capture_here`: return address of that call, sp after it, and the registers
/// that calls preserve.
struct HereRegisters {
  std::array<std::uint64_t, 14> values;
};
extern "C" void mixstack_capture_here(HereRegisters* out);

/// Calls `work` with `argument` on the stack that ends at `top`, aligned to 16.
extern "C" void mixstack_call_on_stack(void* argument, void (*work)(void*), void* top);
/// Starts a signal handler whose frame, as the kernel makes it, was copied to `frame`. The interrupted code continues
/// when the handler returns. `record` is the last 16 bytes of the frame.
extern "C" [[noreturn]] void mixstack_begin_handler(int signal, siginfo_t* info, void* context,
                                                    void (*handler)(int, siginfo_t*, void*), void* frame, void* record);

namespace host {

[[nodiscard]] Arch arch();
/// The address of the thread's control block.
[[nodiscard]] Address thread_pointer();
/// An address on the caller's stack, below the part of its frame that is in use.
[[nodiscard]] Address stack_pointer();

/// Bytes of a system call instruction.
[[nodiscard]] unsigned call_size();
/// The result of a system call, if the context is of the instruction after one.
[[nodiscard]] std::int64_t call_result(const void* context);
/// Whether the registers still hold all its arguments. On ARM64 the result replaces the first.
[[nodiscard]] bool keeps_arguments();
/// The first to the fourth argument of that call, in the registers that keep them.
[[nodiscard]] std::uint64_t call_argument(const void* context, unsigned index);
void set_call_argument(void* context, unsigned index, std::uint64_t value);
/// Makes the context repeat the call of this number when it is resumed.
void repeat_call(void* context, std::int64_t number);
inline constexpr Address kFrameRecord = 16;  ///< bytes of a frame record, on CPUs that have them
/// The signal frame: all that the kernel put onto a stack for a handler (`siginfo_t`, `ucontext_t` and all other
/// registers).
[[nodiscard]] AddressRange signal_frame(const siginfo_t* info, const void* context);
/// Where a copy of such a frame may begin, all of it below `sp` and its red zone, with the frame's alignment.
[[nodiscard]] Address place_below(Address sp, AddressRange frame);
/// Corrects a copy that lies `distance` bytes above its original: pointers into the frame become pointers into the
/// copy.
void relocate_frame(void* context, std::uint64_t distance);
/// From a `ucontext_t`.
[[nodiscard]] unwind::LightFrame light_frame(const void* context);
[[nodiscard]] inline Registers registers_of(const void* context) {
  return arch::user_context_registers(arch(), context);
}
/// The frame that called `mixstack_capture_here`; its pc is a return address.
[[nodiscard]] unwind::LightFrame light_frame(const HereRegisters& here);
[[nodiscard]] Registers registers_of(const HereRegisters& here);

}  // namespace host
}  // namespace mixstack::self_walk
