// What depends on the CPU we run on; twins in x86_64/ and aarch64/.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>

#include "arch/user_context.h"
#include "mixstack/registers.h"
#include "unwind/rule_step.h"

namespace mixstack::self_walk {

/// Registers of a function at the place where it called `capture_here`: return address of that call, sp after it, and
/// those that calls preserve.
struct HereRegisters {
  std::array<std::uint64_t, 14> values;
};
extern "C" void mixstack_capture_here(HereRegisters* out);

/// Calls `work` with `argument` on the stack that ends at `top`, which is aligned to 16.
extern "C" void mixstack_call_on_stack(void* argument, void (*work)(void*), void* top);
/// Begins a handler of a signal whose frame, as the kernel makes it, was put at `frame`. The interrupted code goes on
/// when the handler returns. `record` is the last 16 bytes of the frame.
extern "C" [[noreturn]] void mixstack_begin_handler(int signal, siginfo_t* info, void* context,
                                                    void (*handler)(int, siginfo_t*, void*), void* frame, void* record);

namespace host {

[[nodiscard]] Arch arch();
/// The address of the thread's control block.
[[nodiscard]] Address thread_pointer();
/// An address on the stack that the caller runs on, below all of the caller's frame that is in use.
[[nodiscard]] Address stack_pointer();

/// Bytes of the instruction of a system call.
[[nodiscard]] unsigned call_size();
/// What a system call answered, if a `ucontext_t` is of just behind one.
[[nodiscard]] std::int64_t call_result(const void* context);
/// Whether its arguments are all in the registers still. On ARM64 the first is where the answer is.
[[nodiscard]] bool keeps_arguments();
/// An argument of that call, the first to the fourth; where they are kept.
[[nodiscard]] std::uint64_t call_argument(const void* context, unsigned index);
void set_call_argument(void* context, unsigned index, std::uint64_t value);
/// The call of this number is made again when the context is returned to.
void repeat_call(void* context, std::int64_t number);
inline constexpr Address kFrameRecord = 16;  ///< bytes of one, on CPUs that have such
/// What the kernel put onto a stack for a handler: its `siginfo_t`, `ucontext_t` and all other registers.
[[nodiscard]] AddressRange signal_frame(const siginfo_t* info, const void* context);
/// Where a copy of such a frame may begin, all of it below `sp` and below what code keeps there. It is as well aligned
/// as the frame is.
[[nodiscard]] Address place_below(Address sp, AddressRange frame);
/// Mends a copy that lies `distance` bytes above what it was made of: what points into the frame points into the copy.
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
