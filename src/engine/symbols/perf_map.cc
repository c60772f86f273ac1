#include "engine/symbols/perf_map.h"

#include <algorithm>
#include <charconv>

#include "engine/images/claimed_ranges.h"
#include "engine/symbols/demangle.h"

namespace mixstack::symbols {
namespace {

constexpr std::string_view kBlank = " \t";

/// A hexadecimal number at the front, taken off together with the blanks behind it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const std::size_t blanks = std::min(text.find_first_not_of(kBlank), text.size());
  if (blanks == 0) return std::nullopt;
  text.remove_prefix(blanks);
  return value;
}

}  // namespace

std::optional<PerfMap::Line> PerfMap::parse(std::size_t begin, std::size_t end) const {
  std::string_view rest = std::string_view(text_).substr(begin, end - begin);
  const auto address = take_number(rest);
  const auto size = address ? take_number(rest) : std::nullopt;
  if (!size || *size == 0 || *size > UINT32_MAX || *address + *size < *address) return std::nullopt;
  while (!rest.empty() && (kBlank.find(rest.back()) != kBlank.npos || rest.back() == '\r')) rest.remove_suffix(1);
  if (rest.empty()) return std::nullopt;
  return Line{*address, static_cast<std::uint32_t>(*size), static_cast<std::uint32_t>(rest.data() - text_.data()),
              static_cast<std::uint32_t>(rest.size())};
}

PerfMap::PerfMap(std::string text) : text_(std::move(text)) {
  if (text_.size() > kMostText) text_.erase(0, text_.size() - kMostText);
  images::ClaimedRanges claimed;
  std::size_t entries = 0;
  // `end` is where the line's newline is; the line begins behind the one before.
  for (std::size_t end = text_.rfind('\n'); end != text_.npos && entries < kMostEntries;) {
    const std::size_t before = end == 0 ? text_.npos : text_.rfind('\n', end - 1);
    const auto line = parse(before == text_.npos ? 0 : before + 1, end);
    end = before;
    if (!line) continue;
    entries++;
    if (claimed.claim({line->begin, line->begin + line->size})) lines_.push_back(*line);
  }
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.begin < b.begin; });
}

std::optional<PerfMap::Entry> PerfMap::find(Address address) const {
  const auto behind = std::upper_bound(lines_.begin(), lines_.end(), address,
                                       [](Address a, const Line& line) { return a < line.begin; });
  if (behind == lines_.begin()) return std::nullopt;
  const Line& line = *std::prev(behind);
  if (address - line.begin >= line.size) return std::nullopt;
  return Entry{{line.begin, line.begin + line.size},
               printable(std::string_view(text_).substr(line.name, line.name_size), kMostNameBytes)};
}

}  // namespace mixstack::symbols
