// The traits of each CPU, by its name.
#pragma once

#include "base/arch/aarch64/cpu.h"
#include "base/arch/arm/cpu.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86/cpu.h"
#include "base/arch/x86_64/cpu.h"

namespace mixstack::arch {

inline constexpr PerCpu<Cpu> kCpus{
    .x86_64 = x86_64::kCpu, .aarch64 = aarch64::kCpu, .x86 = x86::kCpu, .arm = arm::kCpu};

/// The traits of an unknown CPU are all empty: nothing is done with it.
[[nodiscard]] constexpr const Cpu& cpu(Arch arch) { return kCpus[arch]; }

/// Applies `f` to each CPU's traits, and to Cpu{}.
[[nodiscard]] constexpr auto per_cpu(auto f) {
  return PerCpu<decltype(f(Cpu{}))>{f(kCpus.x86_64), f(kCpus.aarch64), f(kCpus.x86), f(kCpus.arm), f(kCpus.unknown)};
}

/// The CPU with this number in an image format.
[[nodiscard]] constexpr Arch cpu_with(auto number_of, std::uint16_t number) {
  for (const Arch arch : kArchs)
    if (number_of(cpu(arch)) == number) return arch;
  return Arch::unknown;
}
[[nodiscard]] constexpr Arch cpu_of_elf(std::uint16_t machine) {
  return cpu_with([](const Cpu& c) { return c.elf.machine; }, machine);
}
[[nodiscard]] constexpr Arch cpu_of_pe(std::uint16_t machine) {
  return cpu_with([](const Cpu& c) { return c.pe_machine; }, machine);
}

/// Empty: the CPU has no such register.
[[nodiscard]] constexpr std::string_view register_name(Arch arch, unsigned reg) {
  const auto names = cpu(arch).register_names;
  return reg < names.size() ? names[reg] : std::string_view{};
}

}  // namespace mixstack::arch
