// The system call that a stopped thread stands in, where the kernel does not tell its tracer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/cpu.h"

namespace mixstack::arch {

/// What of the code around the pc `system_call_at` looks at, in bytes: so many before it and as many at it.
inline constexpr std::size_t kSystemCallCode = 4;

/// The number of the call. The kernel has put the pc back to the call's instruction where the call will be made again,
/// and leaves it behind it where the call ends with EINTR. -1: the thread stands at no such place, or the CPU's
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
