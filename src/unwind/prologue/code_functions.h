// Where functions begin in images that do not say so: built without unwind information, and stripped (musl is).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstack/address.h"
#include "object/elf_image.h"

namespace mixstack::unwind {

/// Found in the code of an image, by one pass over its instructions:
///   - what is called, and what a call's argument could be (an address made relative to the instruction) where what
///   lies
///     before it does not go on into it;
///   - what is jumped to from another function, and behind padding to a multiple of 16 (on AArch64: beginning with what
///     makes a frame) what nothing jumps to, under the same condition: functions of which only data have the address;
///   - symbols, and what the image's data point to (its relocations say).
/// Evidence, no knowledge: a rule that is made from such a start (`prologue_rule`) is to be checked by its return
/// address. Immutable. All addresses are link-time addresses.
class CodeFunctions {
 public:
  /// More code than that is not looked at: it is there for C libraries, not for whole programs.
  static constexpr std::size_t kMostCode = 4u << 20;

  explicit CodeFunctions(const object::ElfImage& image);

  /// The start of the function that has code at `address`, and where the next one begins.
  [[nodiscard]] std::optional<AddressRange> around(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return starts_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> starts() const { return starts_; }

 private:
  std::vector<std::uint64_t> starts_;  ///< ascending
  std::vector<AddressRange> code_;
};

/// Bytes of code in the file.
[[nodiscard]] std::uint64_t code_size_of(const object::ElfImage& image);

}  // namespace mixstack::unwind
