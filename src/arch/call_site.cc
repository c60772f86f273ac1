#include "arch/call_site.h"

#include "arch/aarch64/call_site.h"
#include "arch/x86_64/call_site.h"

namespace mixstack::arch {

std::optional<CallSite> call_before(Arch arch, std::span<const std::byte> before, Address return_address) {
  switch (arch) {
    case Arch::x86_64:
      return x86_64::call_before(before, return_address);
    case Arch::aarch64:
      return aarch64::call_before(before, return_address);
    case Arch::x86: {
      auto site = x86_64::call_before(before, return_address);
      if (site && site->target) site->target = *site->target & 0xffffffffu;
      return site;
    }
    case Arch::arm:
    case Arch::unknown:
      break;
  }
  return std::nullopt;
}

}  // namespace mixstack::arch
