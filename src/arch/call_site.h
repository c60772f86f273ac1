// Does a call instruction end right before a return address? Evidence for a return address found without unwind data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/address.h"
#include "mixstack/registers.h"

namespace mixstack::arch {

/// The most bytes before a return address that any decoder looks at.
inline constexpr std::size_t kMaxCallLength = 8;

/// A call instruction.
struct CallSite {
  unsigned length = 0;            ///< in bytes, without redundant prefixes
  std::optional<Address> target;  ///< of a direct call
};

/// Decodes the call that ends where `before` ends, `return_address` being the address behind it. `before` should hold
/// the kMaxCallLength bytes before that address; with fewer, calls that do not fit are not found. Nothing when no call
/// ends there or the CPU is not known. On x86 bytes that merely look like a call are possible. Signal-safe.
[[nodiscard]] std::optional<CallSite> call_before(Arch arch, std::span<const std::byte> before, Address return_address);

}  // namespace mixstack::arch
