// Takes known texts out of memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mixstack::pack {

/// Overwrites every occurrence of some texts, as bytes and in UTF-16, with asterisks of the same length. A piece that
/// ends inside a text loses what it holds of it. Immutable.
class Blanker {
 public:
  static constexpr std::size_t kShortest = 6;  ///< shorter ones are found everywhere, and left
  explicit Blanker(std::vector<std::string> texts);
  /// The longest of them, in bytes: pieces of one stream are to overlap by as much.
  [[nodiscard]] std::size_t longest() const { return longest_; }
  /// Answers how many were found. `goes_on`: more follows, and what begins at the end is looked at again then.
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
