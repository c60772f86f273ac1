#include "dotnet/code/entry_point_map.h"

#include <algorithm>
#include <array>

#include "base/system/byte_cursor.h"
#include "dotnet/code/method_check.h"

namespace mixstack::dotnet {
namespace {

constexpr unsigned kMaxBucketBytes = 256;
constexpr std::uint32_t kMaxBuckets = 1u << 26;

struct Bucket {
  std::array<std::byte, kMaxBucketBytes> bytes;
  unsigned slots = 0, word = 8;
  std::uint32_t keys = 0, values = 0, size = 0;

  [[nodiscard]] std::uint64_t at(std::uint32_t offset, unsigned slot) const {
    std::uint64_t v = 0;
    std::memcpy(&v, bytes.data() + offset + std::size_t{slot} * word, word);
    return v;
  }
  [[nodiscard]] std::uint64_t key(unsigned slot) const { return at(keys, slot); }
  [[nodiscard]] std::uint64_t value(unsigned slot) const { return at(values, slot); }
};

Result<Bucket> shape_of(const RuntimeMemory& memory) {
  const auto& l = memory.layouts();
  Bucket b;
  b.word = l.pointer_size;
  b.slots =
      static_cast<unsigned>(l.globals.hash_map_slots_per_bucket.known ? l.globals.hash_map_slots_per_bucket.value : 4);
  if (!l.bucket.keys || !l.bucket.values) return fail(ErrorCode::field_unavailable);
  b.keys = l.bucket.keys.offset;
  b.values = l.bucket.values.offset;
  b.size = l.bucket.size;
  if (b.slots == 0 || b.slots > 16 || b.size == 0 || b.size > kMaxBucketBytes)
    return fail(ErrorCode::malformed, b.size);
  const std::uint32_t needed = b.slots * b.word;
  if (b.keys > b.size || b.values > b.size || needed > b.size - b.keys || needed > b.size - b.values)
    return fail(ErrorCode::malformed, b.size);
  return b;
}

}  // namespace

Result<Address> method_at_entry_point(const RuntimeMemory& memory, Address map, Address entry) {
  const auto& l = memory.layouts();
  auto bucket = shape_of(memory);
  if (!bucket) return fail(bucket.error());
  auto buckets = memory.pointer(map, l.hash_map.buckets);
  if (!buckets) return fail(buckets.error());
  // The first bucket is not one: its first word is how many follow.
  auto count = memory.reader().read<std::uint32_t>(*buckets);
  if (!count) return fail(count.error());
  const std::uint32_t n = *count;
  if (n == 0 || n > kMaxBuckets) return fail(ErrorCode::malformed, n);

  const std::uint64_t value_mask =
      l.globals.hash_map_value_mask.known ? l.globals.hash_map_value_mask.value : ~std::uint64_t{0} >> 1;
  const std::uint64_t collision_bit = std::uint64_t{1} << (8 * l.pointer_size - 1);
  std::uint32_t seed = static_cast<std::uint32_t>(entry >> 2);
  const std::uint32_t step = n == 1 ? 0 : 1 + (static_cast<std::uint32_t>(entry >> 5) + 1) % (n - 1);
  for (std::uint32_t probes = 0; probes < n; probes++) {
    const Address at = *buckets + (Address{1} + seed % n) * bucket->size;
    if (auto r = memory.reader().read_exact(at, std::span(bucket->bytes).first(bucket->size)); !r)
      return fail(r.error());
    for (unsigned i = 0; i < bucket->slots; i++)
      if (bucket->key(i) == entry) {
        // Values are stored halved: the top bit says something else.
        const Address method = (bucket->value(i) & value_mask) << 1;
        if (method == 0) return fail(ErrorCode::not_found, entry);
        return method;
      }
    if ((bucket->value(0) & collision_bit) == 0) break;
    seed += step;
  }
  return fail(ErrorCode::not_found, entry);
}

Result<bool> holds_methods(const RuntimeMemory& memory, Address map, Address image_base) {
  constexpr std::uint32_t kEnoughBuckets = 256;
  constexpr Address kMostImage = Address{1} << 32;
  auto bucket = shape_of(memory);
  const auto buckets = memory.pointer(map, memory.layouts().hash_map.buckets);
  if (!bucket) return fail(bucket.error());
  if (!buckets) return fail(buckets.error());
  const auto count = memory.reader().read<std::uint32_t>(*buckets);
  if (!count) return fail(count.error());
  if (*count > kMaxBuckets) return false;
  unsigned methods = 0;
  for (std::uint32_t n = 1; n <= std::min(*count, kEnoughBuckets); n++) {
    const Address at = *buckets + Address{n} * bucket->size;
    if (auto r = memory.reader().read_exact(at, std::span(bucket->bytes).first(bucket->size)); !r)
      return fail(r.error());
    for (unsigned i = 0; i < bucket->slots; i++) {
      const Address key = bucket->key(i);
      if (key < 16) continue;  // empty, or deleted (hash.h)
      if (key < image_base || key - image_base >= kMostImage) return false;
      const auto table = method_table_of(memory, bucket->value(i) << 1);
      const auto type = table ? ee_class_of(memory, *table) : table;
      if (!type && type.error().code == ErrorCode::unreadable_memory) return fail(type.error());
      if (!type) return false;
      methods++;
    }
  }
  return methods != 0;
}

}  // namespace mixstack::dotnet
