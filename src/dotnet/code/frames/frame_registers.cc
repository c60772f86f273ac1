#include "dotnet/code/frames/frame_registers.h"

#include "dotnet/code/frames/aarch64/frame_registers.h"
#include "dotnet/code/frames/arm/frame_registers.h"
#include "dotnet/code/frames/x86/frame_registers.h"
#include "dotnet/code/frames/x86_64/frame_registers.h"

namespace mixstack::dotnet::frames {

const FrameRegisters* frame_registers(Arch arch) {
  static constexpr FrameRegisters kX64 = {x86_64::apply_hijack_args, x86_64::apply_inlined_call_extra,
                                          x86_64::apply_transition_extra, x86_64::apply_func_eval,
                                          x86_64::apply_tail_call};
  static constexpr FrameRegisters kArm64 = {aarch64::apply_hijack_args, aarch64::apply_inlined_call_extra,
                                            aarch64::apply_transition_extra, aarch64::apply_func_eval,
                                            aarch64::apply_tail_call};
  static constexpr FrameRegisters kX86 = {x86::apply_hijack_args, x86::apply_inlined_call_extra,
                                          x86::apply_transition_extra, x86::apply_func_eval, x86::apply_tail_call};
  static constexpr FrameRegisters kArm = {arm::apply_hijack_args, arm::apply_inlined_call_extra,
                                          arm::apply_transition_extra, arm::apply_func_eval, arm::apply_tail_call};
  switch (arch) {
    case Arch::x86_64:
      return &kX64;
    case Arch::aarch64:
      return &kArm64;
    case Arch::x86:
      return &kX86;
    case Arch::arm:
      return &kArm;
    case Arch::unknown:
      break;
  }
  return nullptr;
}

}  // namespace mixstack::dotnet::frames
