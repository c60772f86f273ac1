// The encodings of all CPUs.
#pragma once

#include "base/arch/per_cpu.h"
#include "dotnet/gcinfo/aarch64/encoding.h"
#include "dotnet/gcinfo/x86_64/encoding.h"

namespace mixstack::dotnet::gcinfo {

inline constexpr arch::PerCpu<GcInfoCpu> kCpus{.x86_64 = x86_64::kEncoding, .aarch64 = aarch64::kEncoding};

/// Without registers: not written for this CPU.
[[nodiscard]] inline const GcInfoCpu& cpu(Arch arch) { return kCpus[arch]; }

}  // namespace mixstack::dotnet::gcinfo
