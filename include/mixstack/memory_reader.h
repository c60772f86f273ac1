// Bytes at a target address, wherever they come from.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "mixstack/address.h"
#include "mixstack/result.h"

namespace mixstack {

/// Reads the target's memory. Implementations: a live process, a file image, a buffer, an overlay of captured bytes
/// over any of them, a page cache, a fake. One primitive; everything else is built on it.
///
/// Thread-safety is stated by each implementation. Targets are little-endian on every CPU mixstack knows, as is every
/// host it builds for (checked in memory/endian_check.cc).
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;

  /// Reads up to `out.size()` bytes from `address` and answers how many were read, which is less than asked for only
  /// when the next byte cannot be read. Zero readable bytes is an error (`unreadable_memory`, value = address).
  [[nodiscard]] virtual Result<std::size_t> read_some(Address address, std::span<std::byte> out) const = 0;

  /// False: of a page some bytes may be readable and others not, as in a core that holds no more than was asked of it.
  [[nodiscard]] virtual bool has_whole_pages() const { return true; }

  /// All of `out` or an error whose value is the first unreadable address.
  [[nodiscard]] Result<void> read_exact(Address address, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
      auto n = read_some(address + done, out.subspan(done));
      if (!n) return fail(n.error());
      if (*n == 0) return fail(ErrorCode::unreadable_memory, address + done);
      done += *n;
    }
    return {};
  }

  /// One plain value. `T` must be trivially copyable and of the target's layout (fixed-size integers, packed structs).
  template <class T>
  [[nodiscard]] Result<T> read(Address address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    auto r = read_exact(address, std::as_writable_bytes(std::span<T, 1>(&value, 1)));
    if (!r) return fail(r.error());
    return value;
  }

  /// A pointer of `pointer_size` (4 or 8) bytes, zero-extended.
  [[nodiscard]] Result<Address> read_pointer(Address address, unsigned pointer_size = 8) const {
    if (pointer_size == 8) return read<std::uint64_t>(address);
    auto v = read<std::uint32_t>(address);
    if (!v) return fail(v.error());
    return Address{*v};
  }

  /// Bytes up to (not including) a NUL. More than `limit` bytes without one is `limit_exceeded`.
  [[nodiscard]] Result<std::string> read_cstring(Address address, std::size_t limit) const;
};

/// The bytes of one thread's stack by value, for inner loops: no virtual call unless an address lies outside.
/// Borrows everything; must not outlive the bytes.
struct StackView {
  Address base = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  const MemoryReader* fallback = nullptr;  ///< asked for everything outside; may be null

  /// A little-endian 64-bit word. False when it is readable nowhere.
  [[nodiscard]] bool word(Address address, std::uint64_t& out) const {
    const Address offset = address - base;
    if (size >= 8 && offset <= size - 8) [[likely]] {
      std::memcpy(&out, data + offset, 8);
      return true;
    }
    return slow_word(address, out);
  }
  [[nodiscard]] bool bytes(Address address, std::span<std::byte> out) const;

 private:
  [[nodiscard]] bool slow_word(Address address, std::uint64_t& out) const;
};

}  // namespace mixstack
