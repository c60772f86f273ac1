#include "base/arch/call_site.h"

#include "base/arch/aarch64/call_site.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86/call_site.h"
#include "base/arch/x86_64/call_site.h"

namespace mixstack::arch {

std::optional<CallSite> call_before(Arch arch, std::span<const std::byte> before, Address return_address) {
  static constexpr PerCpu<std::optional<CallSite> (*)(std::span<const std::byte>, Address)> kDecoders{
      .x86_64 = x86_64::call_before, .aarch64 = aarch64::call_before, .x86 = x86::call_before};
  const auto decode = kDecoders[arch];
  return decode == nullptr ? std::nullopt : decode(before, return_address);
}

}  // namespace mixstack::arch
