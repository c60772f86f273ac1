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
/// over any of them, a page cache, a fake. One primitive, `read_some`; everything else is built on it.
///
/// Each implementation states its thread-safety. Targets are little-endian on every CPU that mixstack knows, and so is
/// every host that it builds for (checked in memory/endian_check.cc).
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;

  /// Reads up to `out.size()` bytes from `address` and returns how many were read: fewer only if the next byte cannot
  /// be read. No readable byte is an error (`unreadable_memory`, value = address).
  [[nodiscard]] virtual Result<std::size_t> read_some(Address address, std::span<std::byte> out) const = 0;

  /// False: a page may be readable in part, as in a core that holds only what was asked for.
  [[nodiscard]] virtual bool has_whole_pages() const { return true; }

  /// Reads all of `out`, or returns an error whose value is the first unreadable address.
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

  /// Reads one plain value. `T` must be trivially copyable and have the target's layout (fixed-size integers, packed
  /// structs).
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

  /// Reads bytes up to (not including) a NUL. Errors: `limit_exceeded` (no NUL in `limit` bytes), `unreadable_memory`.
  [[nodiscard]] Result<std::string> read_cstring(Address address, std::size_t limit) const;
};

/// The bytes of one thread's stack, for inner loops: no virtual call unless an address lies outside. Borrows everything
/// and must not outlive the bytes. Signal-safe if `fallback` is.
struct StackView {
  Address base = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  const MemoryReader* fallback = nullptr;  ///< asked for everything outside; may be null

  /// Reads a little-endian 64-bit word. False: neither captured nor readable by `fallback`.
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
