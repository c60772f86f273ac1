// The arguments of a system call, of a thread that is in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/arch/aarch64/call_arguments.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86_64/call_arguments.h"

namespace mixstack::arch {

/// DWARF numbers of the registers, in order; for a CPU whose stacks are not walked, numbers that no thread has.
inline constexpr PerCpu<std::array<unsigned, 6>> kCallArguments{
    .x86_64 = x86_64::kCallArguments,
    .aarch64 = aarch64::kCallArguments,
    .x86 = {Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax},
    .arm = {Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax},
    .unknown = {Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax, Registers::kMax}};

using CallArguments = std::array<std::uint64_t, 6>;

/// As its registers have them; nothing: they do not tell all.
[[nodiscard]] inline std::optional<CallArguments> arguments_in(const Registers& of) {
  CallArguments arguments{};
  const auto& registers = kCallArguments[of.arch()];
  for (std::size_t i = 0; i < arguments.size(); i++) {
    const auto value = of.get(registers[i]);
    if (!value) return std::nullopt;
    arguments[i] = *value;
  }
  return arguments;
}

}  // namespace mixstack::arch
