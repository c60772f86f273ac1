// Holds compiled rows and interned rules: append-only, never moved, so that readers need no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/unwind/cfi_compiler.h"
#include "engine/unwind/compact_rule.h"

namespace mixstack::unwind {

/// A place in the store, as one word that can be published atomically: bit 31 wide rows, bits 24..30 number of rows
/// (127: it stands before the first row), bits 0..23 index of the first word. 0: nothing yet.
class RowRun {
 public:
  static constexpr std::uint32_t kEmpty = 0, kNotCompiled = 0xffffffffu;
  static constexpr unsigned kIndexBits = 24, kCountBits = 7;
  static constexpr std::uint32_t kLongCount = (1u << kCountBits) - 1;

  constexpr RowRun() = default;
  constexpr explicit RowRun(std::uint32_t word) : word_(word) {}
  constexpr RowRun(std::uint32_t index, std::uint32_t count, bool wide)
      : word_((wide ? 1u << 31 : 0u) | count << kIndexBits | index) {}

  [[nodiscard]] constexpr std::uint32_t word() const { return word_; }
  [[nodiscard]] constexpr std::uint32_t index() const { return word_ & ((1u << kIndexBits) - 1); }
  [[nodiscard]] constexpr std::uint32_t count() const { return word_ >> kIndexBits & kLongCount; }
  [[nodiscard]] constexpr bool is_wide() const { return word_ >> 31 != 0; }

 private:
  std::uint32_t word_ = kEmpty;
};

/// Rows are 4 bytes: offset from the start of the function and number of the rule, 16 bits each; in functions of
/// 64 KiB and more 8 bytes, 32 bits each. The last row of a run is the end of the function, with rule `kNoRule`.
///
/// One writer at a time (the owner's lock); readers are free to use any run they got through an atomic published after
/// the run was added.
class RowStore {
 public:
  static constexpr std::uint32_t kNoRule = 0, kInterpret = 1;  ///< the first two rules of every store

  /// `section_bytes`: size of the call frame information, which bounds the rows there can be.
  RowStore(Arch arch, std::size_t section_bytes);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  /// Adds the rows of one function of `size` bytes. `kNotCompiled` when the store or the rule numbers are full, or the
  /// function has more rows than a chunk holds: its addresses must be interpreted.
  [[nodiscard]] RowRun add(std::span<const CompiledRow> rows, std::uint32_t size);

  /// The rule for `offset` bytes behind the start of the function.
  [[nodiscard]] const CompactRule& find(RowRun run, std::uint64_t offset) const {
    const std::uint32_t* rows = word_at(run.index());
    std::size_t count = run.count();
    if (count == RowRun::kLongCount) [[unlikely]]
      count = *rows++;
    if (run.is_wide()) [[unlikely]]
      return rule(find_wide(rows, count, offset));
    if (offset > 0xffff) return rule(kNoRule);
    const auto key = static_cast<std::uint32_t>(offset) << 16 | 0xffff;
    while (count > 1) {
      const std::size_t half = count / 2;
      rows = rows[half] <= key ? rows + half : rows;
      count -= half;
    }
    return rule(*rows & 0xffff);
  }
  [[nodiscard]] const CompactRule& rule(std::uint32_t number) const {
    return rule_chunks_[number / kRulesPerChunk][number % kRulesPerChunk];
  }

  [[nodiscard]] std::size_t rule_count() const { return rule_count_; }
  [[nodiscard]] std::size_t row_count() const { return row_count_; }
  /// Bytes of rows and rules in use.
  [[nodiscard]] std::size_t memory_size() const {
    return words_used_ * sizeof(std::uint32_t) + rule_count_ * sizeof(CompactRule) +
           numbers_.size() * sizeof(std::uint16_t);
  }

 private:
  static constexpr std::size_t kWordsPerChunk = 1 << 14, kMostWordChunks = 1 << 10;  // 64 KiB each, 64 MiB in all
  static constexpr std::size_t kRulesPerChunk = 256, kRuleChunks = 256;              // all that 16 bits can number

  [[nodiscard]] const std::uint32_t* word_at(std::uint32_t index) const {
    return word_chunks_[index / kWordsPerChunk] + index % kWordsPerChunk;
  }
  [[nodiscard]] static std::uint32_t find_wide(const std::uint32_t* rows, std::size_t count, std::uint64_t offset);
  [[nodiscard]] std::uint32_t* reserve(std::size_t words, std::uint32_t& index);
  [[nodiscard]] std::uint32_t intern(const CompactRule& rule);
  [[nodiscard]] std::uint32_t add_rule(const CompactRule& rule);
  void rehash();

  Arch arch_;
  std::vector<std::uint32_t*> word_chunks_;  ///< of fixed size
  std::unique_ptr<CompactRule*[]> rule_chunks_;
  std::size_t next_word_ = 1;  ///< word 0 is not used: run 0 means "nothing yet"
  std::size_t words_used_ = 0, rule_count_ = 0, row_count_ = 0;
  std::vector<std::uint16_t> numbers_;  ///< hash table of rule numbers, 0: free
};

}  // namespace mixstack::unwind
