#include "base/arch/pause.h"

#include "base/arch/aarch64/pause.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86_64/pause.h"

namespace mixstack::arch {

bool pauses(Arch arch, std::span<const std::byte> code) {
  static constexpr PerCpu<bool (*)(std::span<const std::byte>)> kDecoders{.x86_64 = x86_64::pauses,
                                                                          .aarch64 = aarch64::pauses};
  const auto decode = kDecoders[arch];
  return decode != nullptr && decode(code);
}

}  // namespace mixstack::arch
