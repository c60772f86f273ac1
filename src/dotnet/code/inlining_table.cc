#include "dotnet/code/inlining_table.h"

#include <algorithm>
#include <numeric>

#include "base/system/byte_cursor.h"
#include "dotnet/code/native_array.h"

namespace mixstack::dotnet {
namespace {

// ReadyToRunCrossModuleInlineFlags, src/coreclr/tools/Common/Internal/Runtime/ReadyToRunConstants.cs.
constexpr std::uint32_t kForeignInlinee = 1, kForeignInliners = 2, kInlineeShift = 2;
constexpr std::uint32_t kInlinerHasModule = 1, kInlinerShift = 1;
constexpr std::uint32_t kMostRows = 0xffffff;  // of a metadata table

struct Pair {
  std::uint32_t inliner = 0, inlinee = 0;
};

/// Reads one section. Each entry is a list of numbers, which begins with how many there are.
class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, bool has_modules) : bytes_(bytes), has_modules_(has_modules) {}

  [[nodiscard]] Result<std::vector<Pair>> decode() {
    // A list has a count, the inlinee and an inliner at least, mostly of some bytes.
    pairs_.reserve(bytes_.size() / 2);
    base::ByteCursor in(bytes_);
    const std::uint8_t header = in.u8();
    const unsigned shift = header >> 2, width = 1u << (header & 3);
    if (!in.ok()) return fail(ErrorCode::truncated);
    if (shift > 24 || width > 4) return fail(ErrorCode::malformed, header);
    // Where each bucket begins, counted from here, and where the last one ends.
    const std::uint32_t buckets = 1u << shift;
    if (in.remaining() < (std::uint64_t{buckets} + 1) * width) return fail(ErrorCode::truncated);
    std::uint32_t begin = offset(in, width);
    for (std::uint32_t n = 0; n < buckets; n++) {
      const std::uint32_t end = offset(in, width);
      if (end < begin || end > bytes_.size() - 1) return fail(ErrorCode::malformed, end);
      if (const auto read = bucket(1 + std::size_t{begin}, 1 + std::size_t{end}); !read) return fail(read.error());
      begin = end;
    }
    return std::move(pairs_);
  }

 private:
  static std::uint32_t offset(base::ByteCursor& in, unsigned width) {
    return width == 1 ? in.u8() : width == 2 ? in.u16() : in.u32();
  }

  /// In a bucket: a byte of each entry's hash, and how far away the entry is.
  Result<void> bucket(std::size_t at, std::size_t end) {
    while (at < end) {
      const auto distance = decode_native_number(bytes_.subspan(std::min(at + 1, bytes_.size())));
      if (!distance) return fail(ErrorCode::truncated, at);
      const auto place = static_cast<std::int64_t>(at + 1) + distance->as_signed;
      if (place < 0 || place >= static_cast<std::int64_t>(bytes_.size())) return fail(ErrorCode::malformed, at);
      if (const auto read = entry(static_cast<std::size_t>(place)); !read) return read;
      at += 1 + distance->size;
    }
    return {};
  }

  [[nodiscard]] bool next(std::uint32_t& value) {
    // Most are of one byte, or of two: the numbers of a table that a whole dump waits for.
    if (position_ < bytes_.size()) {
      const auto low = std::to_integer<std::uint32_t>(bytes_[position_]);
      if ((low & 1) == 0) {
        value = low >> 1;
        position_++;
        return true;
      }
      if ((low & 2) == 0 && position_ + 1 < bytes_.size()) {
        value = low >> 2 | std::to_integer<std::uint32_t>(bytes_[position_ + 1]) << 6;
        position_ += 2;
        return true;
      }
    }
    const auto number = decode_native_number(bytes_.subspan(position_));
    if (!number) return false;
    value = number->value;
    position_ += number->size;
    return true;
  }

  Result<void> entry(std::size_t place) {
    position_ = place;
    std::uint32_t count = 0, word = 0;
    if (!next(count)) return fail(ErrorCode::truncated, place);
    // No two entries share numbers, each of which has a byte at least.
    if (count > bytes_.size() - numbers_) return fail(ErrorCode::limit_exceeded, place);
    numbers_ += count;
    words_.clear();
    for (std::uint32_t n = 0; n < count; n++) {
      if (!next(word)) return fail(ErrorCode::truncated, place);
      words_.push_back(word);
    }
    take(words_);
    return {};
  }

  /// The inlinee, its module if any; inliners of other version bubbles, with their number; inliners, as differences.
  void take(std::span<const std::uint32_t> words) {
    if (words.empty() || (words[0] & kForeignInlinee) != 0) return;
    const std::uint32_t inlinee = words[0] >> kInlineeShift;
    std::size_t n = 1;
    if (has_modules_ && (n >= words.size() || words[n++] != 0)) return;  // 0: the image's own
    if ((words[0] & kForeignInliners) != 0) {
      if (n >= words.size() || words[n] >= words.size() - n) return;
      n += 1 + words[n];
    }
    std::uint32_t inliner = 0;
    while (n < words.size()) {
      const std::uint32_t word = words[n++];
      inliner += has_modules_ ? word >> kInlinerShift : word;
      const bool is_foreign = has_modules_ && (word & kInlinerHasModule) != 0;
      if (is_foreign) n++;
      if (!is_foreign && inlinee <= kMostRows && inliner <= kMostRows) pairs_.push_back({inliner, inlinee});
    }
  }

  std::span<const std::byte> bytes_;
  bool has_modules_;
  std::size_t position_ = 0, numbers_ = 0;
  std::vector<std::uint32_t> words_;  // of one entry
  std::vector<Pair> pairs_;
};

}  // namespace

// The pairs come in the order of a hash of their inlinees. Counting puts them by inliner in two passes: comparing them
// was a twelfth of a whole dump.
Result<InliningTable> InliningTable::decode(std::span<const std::byte> section, bool has_modules) {
  if (section.size() > kMaxSection) return fail(ErrorCode::limit_exceeded, section.size());
  const auto pairs = Decoder(section, has_modules).decode();
  if (!pairs) return fail(pairs.error());
  std::uint32_t most = 0;
  for (const Pair& p : *pairs) most = std::max(most, p.inliner);
  if (most >= kMaxRows) return fail(ErrorCode::limit_exceeded, most);
  InliningTable table;
  // Each row's count stands two places on, so that filling the rows moves their begins to where they belong.
  table.begins_.resize(std::size_t{most} + 3);
  for (const Pair& p : *pairs) table.begins_[std::size_t{p.inliner} + 2]++;
  std::partial_sum(table.begins_.begin(), table.begins_.end(), table.begins_.begin());
  table.inlinees_.resize(pairs->size());
  for (const Pair& p : *pairs) table.inlinees_[table.begins_[std::size_t{p.inliner} + 1]++] = p.inlinee;
  table.begins_.pop_back();
  return table;
}

bool InliningTable::holds(std::uint32_t inlinee, std::uint32_t inliner) const {
  const auto rows = into(inliner);
  return std::find(rows.begin(), rows.end(), inlinee) != rows.end();
}

std::span<const std::uint32_t> InliningTable::into(std::uint32_t inliner) const {
  if (std::size_t{inliner} + 1 >= begins_.size()) return {};
  const std::uint32_t begin = begins_[inliner], end = begins_[std::size_t{inliner} + 1];
  return std::span(inlinees_).subspan(begin, end - begin);
}

}  // namespace mixstack::dotnet
