// Target memory built by hand, value by value, anywhere in the address space.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "mixstack/memory_reader.h"

namespace mixstack::test {

/// Pages come into being when something is written to them; the rest is unreadable.
class SparseMemory final : public MemoryReader {
 public:
  void put_bytes(Address at, std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) {
      pages_[at / kPage][at % kPage] = b;
      at++;
    }
  }
  template <class T>
  void put(Address at, const T& value) {
    put_bytes(at, std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  void put_u64(Address at, std::uint64_t value) { put(at, value); }
  void put_u32(Address at, std::uint32_t value) { put(at, value); }
  void put_u16(Address at, std::uint16_t value) { put(at, value); }
  void put_u8(Address at, std::uint8_t value) { put(at, value); }
  /// Makes a range readable (zeros where nothing was written).
  void map(Address at, std::size_t size) {
    for (Address page = at / kPage; page <= (at + size - 1) / kPage; page++) pages_[page];
  }

  [[nodiscard]] Result<std::size_t> read_some(Address at, std::span<std::byte> out) const override {
    auto it = pages_.find(at / kPage);
    if (it == pages_.end()) return fail(ErrorCode::unreadable_memory, at);
    const std::size_t n = std::min<std::size_t>(out.size(), kPage - at % kPage);
    std::copy_n(it->second.begin() + static_cast<std::ptrdiff_t>(at % kPage), n, out.begin());
    return n;
  }

 private:
  static constexpr Address kPage = 4096;
  std::map<Address, std::array<std::byte, kPage>> pages_;
};

}  // namespace mixstack::test
