#include "process/pack/blanker.h"

#include <algorithm>
#include <cstring>

namespace mixstack::pack {
namespace {

constexpr std::size_t kStart = 4;
constexpr std::size_t kBuckets = 1 << 16;

[[nodiscard]] std::size_t bucket_of(const void* at) {
  std::uint32_t start = 0;
  std::memcpy(&start, at, kStart);
  return (start * 2654435761U) >> 16;
}

/// UTF-8 as UTF-16LE; a byte that starts no sequence becomes a unit of its own.
[[nodiscard]] std::string utf16(const std::string& text) {
  std::string out;
  const auto put = [&out](std::uint32_t unit) {
    out += static_cast<char>(unit & 0xff);
    out += static_cast<char>(unit >> 8);
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length > text.size() - i) break;
    std::uint32_t point = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t k = 1; k < length; k++) point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
    i += length;
    if (point > 0xffff) {
      put(0xd800 + ((point - 0x10000) >> 10 & 0x3ff));
      put(0xdc00 + (point & 0x3ff));
    } else {
      put(point);
    }
  }
  return out;
}

}  // namespace

Blanker::Blanker(std::vector<std::string> texts) : by_start_(kBuckets) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  for (std::string& text : texts) {
    if (text.size() < kShortest) continue;
    patterns_.push_back({utf16(text), 2});
    patterns_.push_back({std::move(text), 1});
  }
  for (std::uint32_t i = 0; i < patterns_.size(); i++) {
    by_start_[bucket_of(patterns_[i].bytes.data())].push_back(i);
    longest_ = std::max(longest_, patterns_[i].bytes.size());
  }
}

/// How many bytes of the pattern match here: all, or those up to the end of the piece.
std::size_t Blanker::match(std::span<const std::byte> at, const Pattern& pattern, bool goes_on) const {
  const std::size_t n = std::min(at.size(), pattern.bytes.size());
  if (n < pattern.bytes.size() && goes_on) return 0;
  if (n < pattern.bytes.size() && n < kShortest * pattern.unit) return 0;
  return std::memcmp(at.data(), pattern.bytes.data(), n) == 0 ? n : 0;
}

std::size_t Blanker::blank(std::span<std::byte> bytes, bool goes_on) const {
  if (patterns_.empty()) return 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i + kStart <= bytes.size(); i++) {
    const auto& candidates = by_start_[bucket_of(bytes.data() + i)];
    if (candidates.empty()) continue;
    std::size_t length = 0, unit = 1;
    for (const std::uint32_t c : candidates) {
      const std::size_t n = match(bytes.subspan(i), patterns_[c], goes_on);
      if (n > length) length = n, unit = patterns_[c].unit;
    }
    for (std::size_t k = 0; k < length; k++) bytes[i + k] = k % unit == 0 ? std::byte{'*'} : std::byte{0};
    found += length != 0 ? 1 : 0;
  }
  return found;
}

}  // namespace mixstack::pack
