// Memory whose owner is told of every read.
#pragma once

#include "mixstack/memory_reader.h"

namespace mixstack::memory {

/// Reports every read, to the byte, to `was_read`, also through caches: a cache in front reads whole pages from `below`
/// and reports only what it was asked for. Thread-safe.
class WitnessedMemory : public MemoryReader {
 public:
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const final {
    auto n = below().read_some(address, out);
    if (n && *n != 0) was_read(address, out.first(*n));
    return n;
  }
  [[nodiscard]] bool has_whole_pages() const final { return below().has_whole_pages(); }

  /// The same memory, for reads that are not reported.
  [[nodiscard]] virtual const MemoryReader& below() const = 0;
  virtual void was_read(Address address, std::span<const std::byte> bytes) const = 0;
};

}  // namespace mixstack::memory
