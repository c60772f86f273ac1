// A value for each CPU, and a call for each CPU: the only code that distinguishes CPUs.
#pragma once

#include "mixstack/registers.h"

namespace mixstack::arch {

/// A value not given, and that of an unknown CPU, is T().
template <class T>
struct PerCpu {
  T x86_64{}, aarch64{}, x86{}, arm{}, unknown{};

  [[nodiscard]] constexpr const T& operator[](Arch arch) const {
    switch (arch) {
      case Arch::x86_64:
        return x86_64;
      case Arch::aarch64:
        return aarch64;
      case Arch::x86:
        return x86;
      case Arch::arm:
        return arm;
      case Arch::unknown:
        break;
    }
    return unknown;
  }
  /// The first CPU with this value, to parse names of CPUs in formats. T() belongs to none.
  [[nodiscard]] constexpr Arch find(const T& value) const {
    for (const Arch arch : kArchs)
      if (value != T() && (*this)[arch] == value) return arch;
    return Arch::unknown;
  }
};

/// Returns `f.template operator()<A>()` if stacks of the CPU are walked (Cpu::is_walked), else `otherwise`. For loops
/// compiled for each CPU.
template <class R, class F>
[[nodiscard]] constexpr R dispatch(Arch arch, const R& otherwise, F&& f) {
  if (arch == Arch::x86_64) return f.template operator()<Arch::x86_64>();
  if (arch == Arch::aarch64) return f.template operator()<Arch::aarch64>();
  return otherwise;
}
/// The same without a result.
template <class F>
constexpr void dispatch(Arch arch, F&& f) {
  (void)dispatch(arch, false, [&]<Arch A>() { return f.template operator()<A>(), true; });
}

}  // namespace mixstack::arch
