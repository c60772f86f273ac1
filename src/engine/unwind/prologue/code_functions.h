// Finds the functions of images that do not list them: built without unwind information, and stripped (musl is).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/images/elf_image.h"
#include "mixstack/address.h"

namespace mixstack::unwind {

/// Function starts found in the code of an image, by one pass over its instructions:
///   - targets of calls, and addresses made relative to an instruction (a call's argument may be a function), unless
///     the code before goes on into them;
///   - targets of jumps from another function, and places behind padding to a multiple of 16 (on AArch64: with an
///     instruction that makes a frame) to which nothing jumps, under the same condition: functions whose address only
///     data have;
///   - symbols, and the targets of the image's pointers (by its relocations).
/// Evidence, not knowledge: check the return address of a rule made from such a start (`prologue_rule`). Immutable. All
/// addresses are link-time addresses.
class CodeFunctions {
 public:
  /// Images with more code are not looked at: this is for C libraries, not for whole programs.
  static constexpr std::size_t kMostCode = 4u << 20;

  explicit CodeFunctions(const images::ElfImage& image);

  /// The range of the function around `address`: from its start to the next start.
  [[nodiscard]] std::optional<AddressRange> around(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return starts_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> starts() const { return starts_; }

 private:
  std::vector<std::uint64_t> starts_;  ///< ascending
  std::vector<AddressRange> code_;
};

/// Bytes of code in the file.
[[nodiscard]] std::uint64_t code_size_of(const images::ElfImage& image);

}  // namespace mixstack::unwind
