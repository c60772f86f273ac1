// Input: the objects of regions, one after the other. Output: sums of each region, and of all together.
// Algorithm: a string's text is one hash of 64 bits, over all of it and its length: of ten million texts two have the
// same by chance once in 400,000 heaps. A region's texts are in a table by hash; at its end the table becomes a list,
// and the lists of all regions are sorted together. Each list keeps hashes that begin with so many zero bits as were
// asked for then; together the strictest counts, and the sums are multiplied by what is left out, so that they are
// estimates without a bias. Arrays: zeros are counted from their ends.
// Order: begin; take; end; then all together.
// Bounds: kMostOfRegion texts of a region, kMostOfAll texts of all lists at one shift (each further shift adds at most
// half of that), kMostBytes of an object, kMostKept texts of a region and kMostText units of each.
#include "dotnet/heap/element_counter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "dotnet/bcl/types.h"
#include "dotnet/names/managed_string.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kMostShown = 10;
constexpr std::uint32_t kStringAt = 12, kStringBase = 22, kHeaderOfFields = 8;

std::uint64_t word_at(const std::byte* at, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

/// Rounds and end as of xxHash64. Never 0.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOne = 0x9e3779b185ebca87, kTwo = 0xc2b2ae3d27d4eb4f, kThree = 0x165667b19e3779f9;
  std::uint64_t hash = kThree + bytes.size();
  const auto add_word = [&](std::uint64_t word) {
    hash ^= std::rotl(word * kTwo, 31) * kOne;
    hash = std::rotl(hash, 27) * kOne + kThree;
  };
  std::size_t at = 0;
  for (; bytes.size() - at >= 8; at += 8) add_word(word_at(bytes.data() + at, 8));
  if (at < bytes.size()) add_word(word_at(bytes.data() + at, bytes.size() - at));
  hash = (hash ^ (hash >> 33)) * kTwo;
  hash = (hash ^ (hash >> 29)) * kThree;
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

std::uint64_t zeros_at_end(std::span<const std::byte> bytes) {
  std::size_t end = bytes.size();
  while (end >= 8 && word_at(bytes.data() + end - 8, 8) == 0) end -= 8;
  while (end > 0 && bytes[end - 1] == std::byte{0}) end--;
  return bytes.size() - end;
}

void add(ObjectAmount& to, std::uint64_t bytes, std::uint64_t count = 1) {
  to.count += count;
  to.bytes += bytes;
}

std::uint64_t size_of_string(std::uint32_t length) {
  return (kStringBase + std::uint64_t{2} * length + 7) & ~std::uint64_t{7};
}

std::uint64_t saved_by(const TextSum& t) { return (std::uint64_t{t.count} - 1) * size_of_string(t.length); }

}  // namespace

void ElementCounter::begin(bool is_large) {
  constexpr std::size_t kFirst = 1 << 10;
  is_large_ = is_large;
  sums_ = {};
  least_kept_ = 0;
  table_.assign(kFirst, {});
  used_ = 0;
}

ElementCounter::Kind ElementCounter::find_kind(std::uint32_t type) {
  if (type >= kinds_.size()) kinds_.resize(std::max<std::size_t>(sizes_.size(), std::size_t{type} + 1));
  const ObjectSizes::Type& of = sizes_[type];
  Kind kind = Kind::other;
  if (!of.is_free && of.component != 0) {
    kind = of.is_string || of.method_table == string_ ? Kind::string : Kind::array;
  } else if (!of.is_free && types_ != nullptr && types_->is_core(of.method_table, bcl::List::kType)) {
    if (const auto place = types_->field(of.method_table, bcl::List::kSize); place && !place->is_static) {
      list_size_at_ = place->offset + kHeaderOfFields;
      kind = Kind::list;
    }
  }
  return kinds_[type] = kind;
}

void ElementCounter::take(std::uint32_t type, std::uint32_t length, std::uint64_t size,
                          std::span<const std::byte> bytes) {
  switch (kind(type)) {
    case Kind::string:
      return take_string(length, size, bytes);
    case Kind::array:
      return take_array(type, length, size, bytes);
    case Kind::list:
      return take_list(size, bytes);
    case Kind::unknown:
    case Kind::other:
      return;
  }
}

void ElementCounter::rebuild(std::size_t size) {
  std::vector<TextSum> old(size);
  old.swap(table_);
  used_ = 0;
  for (const TextSum& t : old)
    if (t.hash != 0 && is_sampled(t.hash)) {
      place_of(t.hash) = t;
      used_++;
    }
}

TextSum& ElementCounter::place_of(std::uint64_t hash) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = static_cast<std::size_t>(hash) & mask;
  while (table_[at].hash != 0 && table_[at].hash != hash) at = (at + 1) & mask;
  return table_[at];
}

void ElementCounter::take_string(std::uint32_t length, std::uint64_t size, std::span<const std::byte> bytes) {
  add(sums_.amounts.strings, size);
  if (length == 0) return add(sums_.amounts.empty_strings, size);
  const std::uint64_t text = std::uint64_t{2} * length;
  if (bytes.size() < kStringAt || bytes.size() - kStringAt < text) return add(sums_.amounts.not_read, size);
  const auto units = bytes.subspan(kStringAt, static_cast<std::size_t>(text));
  const std::uint64_t hash = hash_of(units);
  if (!is_sampled(hash)) return;
  if (used_ * 2 >= table_.size()) {
    if (used_ >= std::min(kMostOfRegion, most_texts_ / 2)) {
      shift_++;
      rebuild(table_.size());
      if (!is_sampled(hash)) return;
    } else {
      rebuild(table_.size() * 2);
    }
  }
  TextSum& sum = place_of(hash);
  if (sum.hash == 0) {
    sum = {hash, 0, length};
    used_++;
  }
  if (sum.count != UINT32_MAX) sum.count++;
  if (data_) note_text(sum, units);
}

/// Keeps the texts of the region that take most room, so far as they are known while it is walked.
void ElementCounter::note_text(const TextSum& text, std::span<const std::byte> units) {
  const auto room = [&](std::uint64_t hash) {
    const TextSum& t = place_of(hash);
    return std::uint64_t{t.count} * size_of_string(t.length);
  };
  auto& kept = sums_.kept;
  if (kept.size() == kMostKept && std::uint64_t{text.count} * size_of_string(text.length) <= least_kept_) return;
  if (std::any_of(kept.begin(), kept.end(), [&](const auto& k) { return k.hash == text.hash; })) return;
  auto to = kept.end();
  if (kept.size() == kMostKept) {
    to = std::min_element(kept.begin(), kept.end(),
                          [&](const auto& a, const auto& b) { return room(a.hash) < room(b.hash); });
    if (room(to->hash) >= room(text.hash)) return;
  } else {
    to = kept.emplace(kept.end());
  }
  to->hash = text.hash;
  std::vector<char16_t> wide(std::min(units.size() / 2, kMostText));
  std::memcpy(wide.data(), units.data(), wide.size() * sizeof(char16_t));
  to->utf8 = names::utf16_to_utf8(wide);
  least_kept_ = 0;
  if (kept.size() == kMostKept)
    least_kept_ = room(std::min_element(kept.begin(), kept.end(), [&](const auto& a, const auto& b) {
                         return room(a.hash) < room(b.hash);
                       })->hash);
}

void ElementCounter::take_array(std::uint32_t type, std::uint32_t length, std::uint64_t size,
                                std::span<const std::byte> bytes) {
  constexpr std::uint64_t kLeast = 128;
  add(sums_.amounts.arrays, size);
  if (length == 0) return add(sums_.amounts.empty_arrays, size);
  // The header word before an object is a part of its base size, so its elements begin 8 bytes earlier.
  const ObjectSizes::Type& of = sizes_[type];
  const std::uint64_t elements = std::uint64_t{of.component} * length;
  if (elements < kLeast) return;
  const std::uint64_t begin = of.base - 8;
  if (bytes.size() < begin || bytes.size() - begin < elements) return add(sums_.amounts.not_read, size);
  const std::uint64_t zeros =
      zeros_at_end(bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(elements)));
  if (zeros * 2 < elements) return;
  add(sums_.amounts.half_empty_arrays, size);
  sums_.amounts.zeros_of_them += zeros;
}

void ElementCounter::take_list(std::uint64_t size, std::span<const std::byte> bytes) {
  add(sums_.amounts.lists, size);
  if (bytes.size() < list_size_at_ + sizeof(std::uint32_t)) return;
  if (word_at(bytes.data() + list_size_at_, sizeof(std::uint32_t)) == 0) add(sums_.amounts.empty_lists, size);
}

std::shared_ptr<const ElementSums> ElementCounter::end() {
  sums_.shift = shift_;
  for (const TextSum& t : table_)
    if (t.hash != 0 && is_sampled(t.hash)) sums_.texts.push_back(t);
  given_ += sums_.texts.size();
  if (given_ > most_texts_) {
    shift_++;
    given_ /= 2;
  }
  return std::make_shared<const ElementSums>(std::move(sums_));
}

namespace {

void add_all(HeapElements& to, const HeapElements& of) {
  for (ObjectAmount HeapElements::*a :
       {&HeapElements::strings, &HeapElements::empty_strings, &HeapElements::arrays, &HeapElements::empty_arrays,
        &HeapElements::half_empty_arrays, &HeapElements::lists, &HeapElements::empty_lists, &HeapElements::not_read})
    add(to.*a, (of.*a).bytes, (of.*a).count);
  to.zeros_of_them += of.zeros_of_them;
}

/// The texts of all regions that the strictest of them has kept, by hash. Hashes are spread evenly: by their first bits
/// they are put into places of their own, each small enough for a cache, where they are sorted.
std::vector<TextSum> sorted(std::span<const std::shared_ptr<const ElementSums>> regions, unsigned shift) {
  constexpr unsigned kBits = 10;
  std::vector<std::size_t> ends((std::size_t{1} << kBits) + 1);
  const auto each = [&](auto use) {
    for (const auto& region : regions)
      for (const TextSum& t : region->texts)
        if (shift == 0 || t.hash >> (64 - shift) == 0)
          use(t, static_cast<std::size_t>(t.hash << shift >> (64 - kBits)));
  };
  each([&](const TextSum&, std::size_t place) { ends[place + 1]++; });
  for (std::size_t i = 1; i < ends.size(); i++) ends[i] += ends[i - 1];
  std::vector<TextSum> all(ends.back());
  each([&](const TextSum& t, std::size_t place) { all[ends[place]++] = t; });
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    if (end <= begin) continue;
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end),
              [](const TextSum& a, const TextSum& b) { return a.hash < b.hash; });
    begin = end;
  }
  return all;
}

/// Each of them once.
std::vector<TextSum> together(std::span<const std::shared_ptr<const ElementSums>> regions, unsigned shift) {
  std::vector<TextSum> all = sorted(regions, shift);
  std::size_t to = 0;
  for (std::size_t i = 0; i < all.size(); i++) {
    if (to != 0 && all[to - 1].hash == all[i].hash) {
      const std::uint64_t count = std::uint64_t{all[to - 1].count} + all[i].count;
      all[to - 1].count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    } else {
      all[to++] = all[i];
    }
  }
  all.resize(to);
  return all;
}

}  // namespace

HeapElements elements_of(std::span<const std::shared_ptr<const ElementSums>> regions) {
  constexpr unsigned kMostShift = 31;
  HeapElements out;
  unsigned shift = 0;
  std::unordered_map<std::uint64_t, const std::string*> words;
  for (const auto& region : regions) {
    add_all(out, region->amounts);
    shift = std::max(shift, region->shift);
    for (const ElementSums::Text& t : region->kept) words.emplace(t.hash, &t.utf8);
  }
  out.one_in = std::uint32_t{1} << std::min(shift, kMostShift);
  std::vector<TextSum> all = together(regions, shift);
  std::erase_if(all, [](const TextSum& t) { return t.count < 2; });
  for (const TextSum& t : all) add(out.duplicates, saved_by(t) * out.one_in, (std::uint64_t{t.count} - 1) * out.one_in);
  const std::size_t shown = std::min(kMostShown, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const TextSum& a, const TextSum& b) { return saved_by(a) > saved_by(b); });
  for (std::size_t i = 0; i < shown; i++) {
    const auto text = words.find(all[i].hash);
    out.most.push_back({all[i].count, all[i].length, all[i].count * size_of_string(all[i].length),
                        text == words.end() ? std::string() : *text->second});
  }
  return out;
}

}  // namespace mixstack::dotnet::objects
