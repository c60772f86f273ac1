// Addresses of the target process. The target may have another CPU, word size or page size than the host.
#pragma once

#include <cstdint>

namespace mixstack {

/// An address in the target's address space. Always 64 bits wide, zero-extended for 32-bit targets. Never dereference
/// it.
using Address = std::uint64_t;

/// A half-open range [begin, end) of target addresses. Empty if `end <= begin`.
struct AddressRange {
  Address begin = 0;
  Address end = 0;

  [[nodiscard]] constexpr bool contains(Address a) const { return a - begin < end - begin && begin < end; }
  [[nodiscard]] constexpr std::uint64_t size() const { return end > begin ? end - begin : 0; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// A code address and how it was obtained. A return address points behind the call, which may already be in another
/// function or unwind row: look-ups must use the byte before. Only this class subtracts that one. A value type;
/// signal-safe.
class CodeAddress {
 public:
  constexpr CodeAddress() = default;
  /// The pc of an interrupted or innermost frame: the next instruction to run.
  [[nodiscard]] static constexpr CodeAddress exact(Address pc) { return CodeAddress(pc, true); }
  /// A return address.
  [[nodiscard]] static constexpr CodeAddress after_call(Address ra) { return CodeAddress(ra, false); }

  /// The address as found in the register or on the stack.
  [[nodiscard]] constexpr Address raw() const { return address_; }
  /// The address to look up: inside the call instruction for a return address.
  [[nodiscard]] constexpr Address lookup() const { return exact_ || address_ == 0 ? address_ : address_ - 1; }
  [[nodiscard]] constexpr bool is_exact() const { return exact_; }
  friend constexpr bool operator==(const CodeAddress&, const CodeAddress&) = default;

 private:
  constexpr CodeAddress(Address a, bool exact) : address_(a), exact_(exact) {}
  Address address_ = 0;
  bool exact_ = true;
};

}  // namespace mixstack
