#include "arch/calling_convention.h"

#include "arch/aarch64/calling_convention.h"
#include "arch/arm/calling_convention.h"
#include "arch/x86/calling_convention.h"
#include "arch/x86_64/calling_convention.h"

namespace mixstack::arch {
namespace {

std::uint64_t pick(Convention c, std::uint64_t unix_set, std::uint64_t windows, std::uint64_t coreclr_unix,
                   std::uint64_t coreclr_windows) {
  switch (c) {
    case Convention::platform_unix:
      return unix_set;
    case Convention::platform_windows:
      return windows;
    case Convention::coreclr_unix:
      return coreclr_unix;
    case Convention::coreclr_windows:
      return coreclr_windows;
  }
  return unix_set;
}

}  // namespace

std::uint64_t callee_saved(Arch arch, Convention c) {
  switch (arch) {
    case Arch::x86_64:
      return pick(c, x86_64::kCalleeSaved, x86_64::kCalleeSavedWindows, x86_64::kCalleeSavedCoreClrUnix,
                  x86_64::kCalleeSavedCoreClrWindows);
    case Arch::aarch64:
      return pick(c, aarch64::kCalleeSaved, aarch64::kCalleeSavedWindows, aarch64::kCalleeSavedCoreClrUnix,
                  aarch64::kCalleeSavedCoreClrWindows);
    case Arch::x86:
      return pick(c, x86::kCalleeSaved, x86::kCalleeSavedWindows, x86::kCalleeSavedCoreClrUnix,
                  x86::kCalleeSavedCoreClrWindows);
    case Arch::arm:
      return pick(c, arm::kCalleeSaved, arm::kCalleeSavedWindows, arm::kCalleeSavedCoreClrUnix,
                  arm::kCalleeSavedCoreClrWindows);
    case Arch::unknown:
      break;
  }
  return 0;
}

}  // namespace mixstack::arch
