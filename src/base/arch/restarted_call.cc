#include "base/arch/restarted_call.h"

#include "base/arch/aarch64/restarted_call.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86_64/restarted_call.h"

namespace mixstack::arch {

bool is_restart(Arch arch, std::int64_t number) {
  static constexpr PerCpu<std::int64_t> kNumbers{.x86_64 = x86_64::kRestart, .aarch64 = aarch64::kRestart};
  return number > 0 && number == kNumbers[arch];
}

std::int64_t restarted_call(Arch arch, std::int64_t number, std::span<const std::byte> code) {
  static constexpr PerCpu<std::int64_t (*)(std::span<const std::byte>)> kSearches{.x86_64 = x86_64::restarted_call,
                                                                                  .aarch64 = aarch64::restarted_call};
  const auto search = kSearches[arch];
  const std::int64_t found = is_restart(arch, number) && search != nullptr ? search(code) : -1;
  return found >= 0 ? found : number;
}

}  // namespace mixstack::arch
