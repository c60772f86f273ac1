// Finds the system call of a stopped thread where the kernel does not report it to its tracer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arch/cpu.h"

namespace mixstack::arch {

/// Bytes of code that `system_call_at` looks at, before the pc and at it.
inline constexpr std::size_t kSystemCallCode = 4;

/// The number of the call. The kernel sets the pc back to the call's instruction if the call will be repeated, and
/// leaves it behind the instruction if the call ends with EINTR. -1: the thread is at no such place, or the CPU's
/// register set has the number (x86-64). `code`: twice kSystemCallCode bytes around the pc.
[[nodiscard]] inline std::int64_t system_call_at(const Registers& registers, std::span<const std::byte> code) {
  const SystemCallSite& site = cpu(registers.arch()).system_call;
  if (site.instruction.size() != kSystemCallCode || code.size() != 2 * kSystemCallCode) return -1;
  const auto is_call = [&](std::size_t at) {
    return std::equal(site.instruction.begin(), site.instruction.end(), code.begin() + static_cast<std::ptrdiff_t>(at),
                      [](std::uint8_t a, std::byte b) { return std::byte{a} == b; });
  };
  constexpr std::uint64_t kEndsWithEintr = ~std::uint64_t{0} - 3;  // -EINTR
  const bool stays = is_call(kSystemCallCode);
  const bool ends = is_call(0) && registers.get(site.result) == kEndsWithEintr;
  const auto number = registers.get(site.number);
  if ((!stays && !ends) || !number || *number > site.last) return -1;
  return static_cast<std::int64_t>(*number);
}

}  // namespace mixstack::arch
