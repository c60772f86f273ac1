#include "engine/unwind/row_store.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

namespace mixstack::unwind {

RowStore::RowStore(Arch arch, std::size_t section_bytes)
    : arch_(arch),
      // A row takes two bytes of instructions at least, and an FDE, with the row for its end, more than ten.
      word_chunks_(std::min(section_bytes / kWordsPerChunk + 2, kMostWordChunks)),
      rule_chunks_(std::make_unique<CompactRule*[]>(kRuleChunks)),
      numbers_(64) {
  (void)add_rule({});
  CompactRule interpret;
  interpret.kind = CompactKind::interpret;
  (void)add_rule(interpret);
}

RowStore::~RowStore() {
  for (auto* chunk : word_chunks_) delete[] chunk;
  for (std::size_t i = 0; i < kRuleChunks; i++) ::operator delete(rule_chunks_[i]);
}

std::uint32_t RowStore::add_rule(const CompactRule& rule) {
  CompactRule*& chunk = rule_chunks_[rule_count_ / kRulesPerChunk];
  static_assert(std::is_trivially_destructible_v<CompactRule>);
  if (chunk == nullptr) chunk = static_cast<CompactRule*>(::operator new(kRulesPerChunk * sizeof(CompactRule)));
  auto* stored = new (chunk + rule_count_ % kRulesPerChunk) CompactRule(rule);
  derive(*stored, arch_);
  return static_cast<std::uint32_t>(rule_count_++);
}

void RowStore::rehash() {
  std::vector<std::uint16_t> larger(numbers_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const std::uint16_t number : numbers_) {
    if (number == 0) continue;
    std::size_t slot = hash_of(rule(number)) & mask;
    while (larger[slot] != 0) slot = (slot + 1) & mask;
    larger[slot] = number;
  }
  numbers_.swap(larger);
}

/// The number of an equal rule; `kInterpret`: no numbers are left.
std::uint32_t RowStore::intern(const CompactRule& wanted) {
  if (wanted.kind == CompactKind::interpret) return kInterpret;
  const std::size_t mask = numbers_.size() - 1;
  std::size_t slot = hash_of(wanted) & mask;
  for (; numbers_[slot] != 0; slot = (slot + 1) & mask)
    if (rule(numbers_[slot]).same_rule(wanted)) return numbers_[slot];
  if (rule_count_ == kRulesPerChunk * kRuleChunks) return kInterpret;
  const std::uint32_t number = add_rule(wanted);
  numbers_[slot] = static_cast<std::uint16_t>(number);
  if (rule_count_ * 2 > numbers_.size()) rehash();
  return number;
}

/// `words` consecutive ones inside one chunk, or null when the store is full.
std::uint32_t* RowStore::reserve(std::size_t words, std::uint32_t& index) {
  if (words > kWordsPerChunk) return nullptr;
  if (next_word_ % kWordsPerChunk + words > kWordsPerChunk)
    next_word_ = (next_word_ / kWordsPerChunk + 1) * kWordsPerChunk;
  const std::size_t chunk = next_word_ / kWordsPerChunk;
  // The very last run could be all ones, which has another meaning.
  if (chunk >= std::min(word_chunks_.size(), kMostWordChunks - 1)) return nullptr;
  if (word_chunks_[chunk] == nullptr) word_chunks_[chunk] = new std::uint32_t[kWordsPerChunk];
  index = static_cast<std::uint32_t>(next_word_);
  next_word_ += words;
  words_used_ += words;
  return word_chunks_[chunk] + index % kWordsPerChunk;
}

RowRun RowStore::add(std::span<const CompiledRow> rows, std::uint32_t size) {
  const bool wide = size > 0xffff;
  const std::size_t count = rows.size() + 1;
  const bool counted = count >= RowRun::kLongCount;
  std::uint32_t index = 0;
  std::uint32_t* out = reserve(count * (wide ? 2 : 1) + (counted ? 1 : 0), index);
  if (out == nullptr) return RowRun(RowRun::kNotCompiled);
  if (counted) *out++ = static_cast<std::uint32_t>(count);
  const auto put = [&](std::uint32_t offset, std::uint32_t number) {
    if (wide) {
      *out++ = offset;
      *out++ = number;
    } else {
      *out++ = offset << 16 | number;
    }
  };
  for (const auto& row : rows) put(row.offset, intern(row.rule));
  put(size, kNoRule);
  row_count_ += rows.size();
  return RowRun(index, counted ? RowRun::kLongCount : static_cast<std::uint32_t>(count), wide);
}

std::uint32_t RowStore::find_wide(const std::uint32_t* rows, std::size_t count, std::uint64_t offset) {
  while (count > 1) {
    const std::size_t half = count / 2;
    rows = rows[2 * half] <= offset ? rows + 2 * half : rows;
    count -= half;
  }
  return rows[1];
}

}  // namespace mixstack::unwind
