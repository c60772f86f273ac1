// Bytes held by us at given target addresses: captured stacks, fixtures of tests, hand-built structures.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "mixstack/memory_reader.h"

namespace mixstack::memory {

/// Owns any number of ranges. Reading is thread-safe once no more ranges are added.
class BufferMemory final : public MemoryReader {
 public:
  /// Adds (or replaces) a range. Ranges must not overlap others.
  void add(Address base, std::span<const std::byte> bytes) { ranges_[base].assign(bytes.begin(), bytes.end()); }
  template <class T>
  void add_value(Address base, const T& value) {
    add(base, std::as_bytes(std::span<const T, 1>(&value, 1)));
  }

  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto it = ranges_.upper_bound(address);
    if (it == ranges_.begin()) return fail(ErrorCode::unreadable_memory, address);
    --it;
    const Address offset = address - it->first;
    if (offset >= it->second.size()) return fail(ErrorCode::unreadable_memory, address);
    const std::size_t n = std::min(out.size(), it->second.size() - static_cast<std::size_t>(offset));
    std::copy_n(it->second.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
    return n;
  }

 private:
  std::map<Address, std::vector<std::byte>> ranges_;
};

}  // namespace mixstack::memory
