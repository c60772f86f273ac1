// Takes known texts out of memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mixstack::pack {

/// Overwrites every occurrence of some texts, as bytes and in UTF-16, with asterisks of the same length. A part at the
/// end of a piece is overwritten, too, from kShortest characters on. Immutable.
class Blanker {
 public:
  static constexpr std::size_t kShortest = 6;  ///< shorter texts occur everywhere, and stay
  explicit Blanker(std::vector<std::string> texts);
  /// The longest of them, in bytes: pieces of one stream must overlap by one byte less.
  [[nodiscard]] std::size_t longest() const { return longest_; }
  /// Answers how many were found. `goes_on`: more bytes follow, and a text cut at the end is left for the next call.
  std::size_t blank(std::span<std::byte> bytes, bool goes_on = false) const;

 private:
  struct Pattern {
    std::string bytes;
    std::size_t unit = 1;  ///< of a character
  };
  [[nodiscard]] std::size_t match(std::span<const std::byte> at, const Pattern& pattern, bool goes_on) const;

  std::vector<Pattern> patterns_;                     // by their first four bytes
  std::vector<std::vector<std::uint32_t>> by_start_;  // hash of these: indexes
  std::size_t longest_ = 0;
};

}  // namespace mixstack::pack
