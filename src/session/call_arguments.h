// Arguments of a system call, of a thread that is in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/arch/call_arguments.h"

namespace mixstack::session {

using CallArguments = std::array<std::uint64_t, 6>;

/// As its registers have them; nothing: they do not tell all.
[[nodiscard]] inline std::optional<CallArguments> arguments_in(const Registers& of) {
  CallArguments arguments{};
  const auto& registers = arch::kCallArguments[of.arch()];
  for (std::size_t i = 0; i < arguments.size(); i++) {
    const auto value = of.get(registers[i]);
    if (!value) return std::nullopt;
    arguments[i] = *value;
  }
  return arguments;
}

}  // namespace mixstack::session
