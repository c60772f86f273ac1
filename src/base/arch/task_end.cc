#include "base/arch/task_end.h"

#include "base/arch/aarch64/task_end.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86_64/task_end.h"

namespace mixstack::arch {

bool ends_task(Arch arch, std::span<const std::byte> code) {
  static constexpr PerCpu<bool (*)(std::span<const std::byte>)> kDecoders{.x86_64 = x86_64::ends_task,
                                                                          .aarch64 = aarch64::ends_task};
  const auto decode = kDecoders[arch];
  return decode != nullptr && decode(code);
}

}  // namespace mixstack::arch
