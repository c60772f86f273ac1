#include "dotnet/code/il_map.h"

#include <algorithm>

#include "dotnet/code/nibbles.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kMostCode = 1 << 28;
// Bits that mark a row's source: a call, an empty stack, since .NET 11 a suspension.
constexpr unsigned kSourceBits = 2, kSourceBitsOf11 = 3, kMostBits = 32;
constexpr std::int32_t kFirstIl = -3;  // the IL offset that 0 stands for

/// Little-endian stream of bits. The caller sees to it that they are there.
class Bits {
 public:
  explicit Bits(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t take(unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; i++, at_++)
      value |= (std::to_integer<std::uint64_t>(bytes_[at_ / 8]) >> at_ % 8 & 1) << i;
    return value;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size() * 8 - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

Result<std::vector<IlMapRow>> decode_bounds(std::span<const std::byte> bytes, unsigned source_bits) {
  Nibbles header(bytes);
  const std::uint32_t count = header.number();
  const unsigned native_bits = header.number() + 1, il_bits = header.number() + 1;
  if (!header.ok() || native_bits > kMostBits || il_bits > kMostBits) return fail(ErrorCode::malformed);
  Bits rows(bytes.subspan(header.whole_bytes()));
  const unsigned row_bits = source_bits + native_bits + il_bits;
  if (count > rows.left() / row_bits) return fail(ErrorCode::truncated, count);
  std::vector<IlMapRow> map;
  map.reserve(count);
  std::uint64_t native = 0;
  for (std::uint32_t i = 0; i < count; i++) {
    (void)rows.take(source_bits);
    native += rows.take(native_bits);
    const std::uint64_t il = rows.take(il_bits);
    if (native > kMostCode || il > kMostCode) return fail(ErrorCode::malformed, native);
    map.push_back({static_cast<std::uint32_t>(native), static_cast<std::int32_t>(il) + kFirstIl});
  }
  return map;
}

/// A count, then for each row the step of its native offset, its IL offset and its source.
Result<std::vector<IlMapRow>> decode_nibbles(std::span<const std::byte> bytes) {
  Nibbles numbers(bytes);
  const std::uint32_t count = numbers.number();
  if (count > 2 * bytes.size() / 3) return fail(ErrorCode::truncated, count);
  std::vector<IlMapRow> map;
  map.reserve(count);
  std::uint64_t native = 0;
  for (std::uint32_t i = 0; i < count; i++) {
    native += numbers.number();
    const std::uint32_t il = numbers.number();
    (void)numbers.number();
    if (native > kMostCode || il > kMostCode) return fail(ErrorCode::malformed, native);
    map.push_back({static_cast<std::uint32_t>(native), static_cast<std::int32_t>(il) + kFirstIl});
  }
  if (!numbers.ok()) return fail(ErrorCode::truncated, count);
  return map;
}

}  // namespace

Result<std::vector<IlMapRow>> read_il_map(const MemoryReader& memory, Address blob, DebugInfoWriter writer,
                                          DebugInfoForm form) {
  const auto parts = find_debug_info_parts(memory, blob, writer, form);
  if (!parts) return fail(parts.error());
  std::vector<std::byte> bytes(parts->bounds.bytes);
  if (const auto read = memory.read_exact(parts->bounds.begin, bytes); !read) return fail(read.error());
  if (bytes.empty()) return std::vector<IlMapRow>{};
  if (form == DebugInfoForm::nibbles) return decode_nibbles(bytes);
  return decode_bounds(bytes, form == DebugInfoForm::bits ? kSourceBits : kSourceBitsOf11);
}

Result<RichDebugInfo> read_rich_debug_info(const MemoryReader& memory, Address blob, unsigned pointer_size,
                                           DebugInfoForm form) {
  const auto parts = find_debug_info_parts(memory, blob, DebugInfoWriter::jit, form);
  if (!parts) return fail(parts.error());
  if (parts->inlined.begin == 0) return fail(ErrorCode::not_found, blob);
  std::vector<std::byte> bytes(parts->inlined.bytes);
  if (const auto read = memory.read_exact(parts->inlined.begin, bytes); !read) return fail(read.error());
  return decode_rich_debug_info(bytes, pointer_size);
}

std::optional<std::uint32_t> il_offset_at(std::span<const IlMapRow> map, std::uint32_t native) {
  auto row = std::upper_bound(map.begin(), map.end(), native,
                              [](std::uint32_t at, const IlMapRow& r) { return at < r.native; });
  while (row != map.begin()) {
    --row;
    if (row->il >= 0) return static_cast<std::uint32_t>(row->il);
    if (row->il == IlMapRow::kProlog) return 0;
  }
  return std::nullopt;
}

bool is_body(std::span<const IlMapRow> map, std::uint32_t native) {
  auto row = std::upper_bound(map.begin(), map.end(), native,
                              [](std::uint32_t offset, const IlMapRow& r) { return offset < r.native; });
  if (row == map.begin()) return false;
  // Where several rows are at one place, each says what the code is.
  const std::uint32_t begin = (row - 1)->native;
  for (; row != map.begin() && (row - 1)->native == begin; --row)
    if ((row - 1)->il == IlMapRow::kProlog || (row - 1)->il == IlMapRow::kEpilog) return false;
  return true;
}

bool begins_epilogue(std::span<const IlMapRow> map, std::uint32_t native) {
  return std::any_of(map.begin(), map.end(),
                     [native](const IlMapRow& r) { return r.native == native && r.il == IlMapRow::kEpilog; });
}

}  // namespace mixstack::dotnet
