// Asks the kernel whether memory of our own process can be read, without touching it.
#pragma once

#include <cstdint>
#include <span>

#include "mixstack/address.h"

namespace mixstack::memory {

/// The way to ask, as a value. Signal-safe and thread-safe; leaves errno alone.
///
/// The answer may be outdated at once: another thread may unmap the page. That is enough for memory that something
/// keeps mapped (a stack in use, an image whose code is on it), which it tells from meaningless addresses.
class PageProbe {
 public:
  /// Finds the way that works here, with a few system calls. If none works, nothing counts as readable.
  [[nodiscard]] static PageProbe find_way();

  /// Whether the eight bytes from `address`, which must be aligned to 8, can be read.
  [[nodiscard]] bool is_readable(Address address) const;

 private:
  enum class Way : std::uint8_t { none, signal_mask, copy };
  explicit PageProbe(Way way) : way_(way) {}

  Way way_;
};

/// Copies from our own memory by process_vm_readv: bytes that vanish meanwhile cannot fault. Answers how many bytes
/// from the front were copied, or a negative errno. Signal-safe.
[[nodiscard]] std::int64_t copy_own_memory(Address from, std::span<std::byte> out);

}  // namespace mixstack::memory
