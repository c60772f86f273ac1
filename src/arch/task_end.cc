#include "arch/task_end.h"

#include "arch/aarch64/task_end.h"
#include "arch/per_cpu.h"
#include "arch/x86_64/task_end.h"

namespace mixstack::arch {

bool ends_task(Arch arch, std::span<const std::byte> code) {
  static constexpr PerCpu<bool (*)(std::span<const std::byte>)> kDecoders{.x86_64 = x86_64::ends_task,
                                                                          .aarch64 = aarch64::ends_task};
  const auto decode = kDecoders[arch];
  return decode != nullptr && decode(code);
}

}  // namespace mixstack::arch
