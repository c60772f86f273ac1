// Which words of a piece of memory are among a few that are looked for.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace mixstack::dotnet::objects {

/// Made for some tens of addresses that lie near each other, and gigabytes: nearly every word fails one test, of its
/// range and of a filter together. (A branch that depends on the range alone is often mispredicted: other types lie
/// there, too.) A value.
class WordSearch {
 public:
  explicit WordSearch(std::span<const std::uint64_t> wanted) {
    if (wanted.empty()) return;
    lowest_ = ~std::uint64_t{0};
    std::uint64_t highest = 0;
    for (const std::uint64_t w : wanted) {
      lowest_ = w < lowest_ ? w : lowest_;
      highest = w > highest ? w : highest;
    }
    span_ = highest - lowest_;
    table_.resize(std::bit_ceil(wanted.size() * 4));
    mask_ = table_.size() - 1;
    for (const std::uint64_t w : wanted) {
      std::size_t i = slot(w);
      while (table_[i] != 0 && table_[i] != w) i = (i + 1) & mask_;
      table_[i] = w;  // zero is looked for by nobody
      filter_[bit(w) / 64] |= std::uint64_t{1} << bit(w) % 64;
    }
  }

  /// Calls `found` with the index of each word that is looked for.
  template <class Found>
  void in(std::span<const std::uint64_t> words, Found&& found) const {
    if (table_.empty()) return;
    for (std::size_t i = 0; i < words.size(); i++)
      if (may_hold(words[i]) && holds(words[i])) found(i);
  }

 private:
  static constexpr std::size_t kFilterBits = 4096;
  [[nodiscard]] static std::size_t bit(std::uint64_t word) { return (word >> 3 ^ word >> 14) % kFilterBits; }
  [[nodiscard]] bool may_hold(std::uint64_t word) const {
    const auto is_near = static_cast<std::uint64_t>(word - lowest_ <= span_);
    return (is_near & filter_[bit(word) / 64] >> bit(word) % 64 & 1) != 0;
  }
  [[nodiscard]] std::size_t slot(std::uint64_t word) const {
    return static_cast<std::size_t>((word * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  [[nodiscard]] bool holds(std::uint64_t word) const {
    if (word == 0) return false;
    for (std::size_t i = slot(word); table_[i] != 0; i = (i + 1) & mask_)
      if (table_[i] == word) return true;
    return false;
  }

  std::vector<std::uint64_t> table_;
  std::array<std::uint64_t, kFilterBits / 64> filter_{};
  std::size_t mask_ = 0;
  std::uint64_t lowest_ = 0, span_ = 0;
};

}  // namespace mixstack::dotnet::objects
