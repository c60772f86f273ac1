// What depends on the CPU we run on; twins in x86_64/ and aarch64/.
#pragma once

#include <array>
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
