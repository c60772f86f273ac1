#include "dotnet/code/frames/frame_registers.h"

#include "base/arch/per_cpu.h"
#include "dotnet/code/frames/aarch64/frame_registers.h"
#include "dotnet/code/frames/arm/frame_registers.h"
#include "dotnet/code/frames/x86/frame_registers.h"
#include "dotnet/code/frames/x86_64/frame_registers.h"

namespace mixstack::dotnet::frames {

const FrameRegisters* frame_registers(Arch arch) {
  static constexpr arch::PerCpu<const FrameRegisters*> kAll{.x86_64 = &x86_64::kFrameRegisters,
                                                            .aarch64 = &aarch64::kFrameRegisters,
                                                            .x86 = &x86::kFrameRegisters,
                                                            .arm = &arm::kFrameRegisters};
  return kAll[arch];
}

}  // namespace mixstack::dotnet::frames
