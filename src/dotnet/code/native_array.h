// Sparse arrays of ReadyToRun images (NativeArray of src/coreclr/inc/nativeformatreader.h).
#pragma once

#include <optional>
#include <span>

#include "mixstack/address.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// A number of one to five bytes, which may be meant as signed.
struct NativeNumber {
  std::uint32_t value = 0;
  std::int32_t as_signed = 0;
  std::uint8_t size = 0;
};
/// Nothing where the bytes end before, or the first one begins no number.
[[nodiscard]] std::optional<NativeNumber> decode_native_number(std::span<const std::byte> bytes);

/// An array in target memory: from an index to the address of its element. Borrows the reader. A damaged array answers
/// errors; check the address against `range` before reading there (number_at does).
class NativeArray {
 public:
  struct Number {
    std::uint32_t value = 0;
    Address next = 0;  ///< behind it
  };

  NativeArray(const MemoryReader& memory, AddressRange range) : memory_(memory), range_(range) {}

  /// `not_found`: there is none of that index.
  [[nodiscard]] Result<Address> at(std::uint32_t index) const;
  /// A number of one to five bytes. `malformed` outside of the array.
  [[nodiscard]] Result<Number> number_at(Address address) const;

 private:
  [[nodiscard]] Result<Address> block_of(std::uint32_t index) const;

  const MemoryReader& memory_;
  AddressRange range_;
};

}  // namespace mixstack::dotnet
