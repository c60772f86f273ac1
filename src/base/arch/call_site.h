// Checks whether a call instruction ends at a return address: evidence for one found without unwind information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/address.h"
#include "mixstack/registers.h"

namespace mixstack::arch {

/// Most bytes before a return address that a decoder looks at.
inline constexpr std::size_t kMaxCallLength = 8;

/// A call instruction.
struct CallSite {
  unsigned length = 0;            ///< in bytes, without redundant prefixes
  std::optional<Address> target;  ///< of a direct call
};

/// Decodes the call that ends where `before` ends; `return_address` is the address behind it. `before` should hold the
/// kMaxCallLength bytes before that address; with fewer, longer calls are not found. Nothing: no call ends there, or
/// the CPU is not known. On x86, bytes that only look like a call are possible. Signal-safe.
[[nodiscard]] std::optional<CallSite> call_before(Arch arch, std::span<const std::byte> before, Address return_address);

}  // namespace mixstack::arch
