// Asks the kernel whether memory of our own process can be read, without touching it.
#pragma once

#include <cstdint>
#include <span>

#include "mixstack/address.h"

namespace mixstack::memory {

/// A value: how to ask. Signal-safe and thread-safe; leaves errno alone.
///
/// The answer is of the moment: another thread may unmap the page a moment later. So it is enough for memory that
/// something keeps mapped (a stack that is in use, an image whose code is on it), and only tells the two apart from
/// addresses that mean nothing.
class PageProbe {
 public:
  /// Finds out which way works here: a few system calls. Where none does, nothing counts as readable.
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
