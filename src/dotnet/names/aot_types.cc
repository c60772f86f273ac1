// Input: the blobs of a NativeAOT program that its reflection uses. Output: its types by their MethodTables.
// Algorithm: the map is a NativeHashtable (src/coreclr/tools/Common/Internal/NativeFormat): one byte {bits of the
// number of buckets, size of their offsets}, the offsets of the buckets and of the end of the last one, then entries
// {low byte of a hash, distance of the record}. A record is two numbers: a reference, and the type in the metadata.
// Bounds: kMaxTypes, and the bytes.
#include "dotnet/names/aot_types.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::dotnet::names {
namespace {

constexpr unsigned kMostBucketBits = 20;

std::optional<std::int64_t> signed_number(std::span<const std::byte> bytes, std::size_t& at) {
  const std::size_t begin = at;
  const auto value = aot_number(bytes, at);
  if (!value) return std::nullopt;
  const unsigned bits = at - begin == 5 ? 32 : static_cast<unsigned>(at - begin) * 7;
  const std::int64_t positive = *value;
  return (positive >> (bits - 1)) != 0 ? positive - (std::int64_t{1} << bits) : positive;
}

/// Goes through all records of the table.
class TypeMap {
 public:
  explicit TypeMap(std::span<const std::byte> map) : map_(map) {}

  /// False: it is not as is known. `each(reference, token)` answers whether it goes on.
  template <class Each>
  [[nodiscard]] bool visit(const Each& each) {
    const auto header = base::load_at<std::uint8_t>(map_, 0);
    if (!header || (*header & 3) > 2 || *header >> 2 > kMostBucketBits) return false;
    size_ = 1u << (*header & 3);
    const std::size_t buckets = std::size_t{1} << (*header >> 2);
    for (std::size_t i = 0; i < buckets; i++) {
      const auto begin = offset_of(i), end = offset_of(i + 1);
      if (!begin || !end || *begin > *end || *end > map_.size()) return false;
      for (std::size_t at = *begin; at < *end;)
        if (!visit_entry(at, each)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> offset_of(std::size_t bucket) const {
    const std::size_t at = 1 + bucket * size_;
    std::optional<std::size_t> offset;
    if (size_ == 1) offset = base::load_at<std::uint8_t>(map_, at);
    if (size_ == 2) offset = base::load_at<std::uint16_t>(map_, at);
    if (size_ == 4) offset = base::load_at<std::uint32_t>(map_, at);
    return offset ? std::optional(*offset + 1) : offset;
  }
  template <class Each>
  [[nodiscard]] bool visit_entry(std::size_t& at, const Each& each) const {
    const std::size_t place = at + 1;  // behind the byte of the hash
    at = place;
    const auto distance = signed_number(map_, at);
    if (!distance) return false;
    const std::int64_t record = static_cast<std::int64_t>(place) + *distance;
    if (record < 0 || record >= static_cast<std::int64_t>(map_.size())) return false;
    auto reading = static_cast<std::size_t>(record);
    const auto reference = aot_number(map_, reading);
    const auto token = reference ? aot_number(map_, reading) : std::nullopt;
    return token && each(*reference, *token);
  }

  std::span<const std::byte> map_;
  std::size_t size_ = 1;
};

}  // namespace

std::optional<AotTypes> AotTypes::parse(std::vector<std::byte> metadata, std::span<const std::byte> map,
                                        std::span<const std::byte> references, Address references_at) {
  if (!AotMetadata(metadata).is_known()) return std::nullopt;
  AotTypes all;
  const bool is_whole = TypeMap(map).visit([&](std::uint32_t reference, std::uint32_t token) {
    const std::size_t at = std::size_t{4} * reference;
    const auto distance = base::load_at<std::int32_t>(references, at);
    if (!distance || all.types_.size() == kMaxTypes) return false;
    all.types_.push_back(
        {references_at + at + static_cast<Address>(std::int64_t{*distance}), AotMetadata::handle_of(token)});
    return true;
  });
  if (!is_whole) return std::nullopt;
  const auto before = [](const Entry& a, const Entry& b) { return a.method_table < b.method_table; };
  std::sort(all.types_.begin(), all.types_.end(), before);
  const auto is_same = [](const Entry& a, const Entry& b) { return a.method_table == b.method_table; };
  if (std::adjacent_find(all.types_.begin(), all.types_.end(), is_same) != all.types_.end()) return std::nullopt;
  all.metadata_ = std::move(metadata);
  return all;
}

std::optional<std::string> AotTypes::name(Address method_table, std::span<const std::string> arguments) const {
  const auto before = [](const Entry& e, Address a) { return e.method_table < a; };
  const auto at = std::lower_bound(types_.begin(), types_.end(), method_table, before);
  if (at == types_.end() || at->method_table != method_table) return std::nullopt;
  return AotMetadata(metadata_).type(at->type, arguments);
}

}  // namespace mixstack::dotnet::names
