#include "dotnet/code/il_map.h"

#include <algorithm>

#include "dotnet/code/nibbles.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint8_t kHasPatchpoints = 1, kHasInlined = 2;
constexpr std::uint32_t kInstrumented = 0xffffffff;
constexpr std::uint32_t kMostBytes = 1 << 20;  // of the bounds of one method
constexpr std::uint32_t kMostPatchpoints = 1 << 16, kMostInlinedBytes = 16 << 20;
constexpr std::uint32_t kMostCode = 1 << 28;
constexpr unsigned kSourceBits = 2, kMostBits = 32;
constexpr std::int32_t kFirstIl = -3;  // what 0 stands for

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

/// Up to `n` bytes; what lies behind the last readable page is not there.
Result<std::vector<std::byte>> some(const MemoryReader& memory, Address at, std::size_t n) {
  std::vector<std::byte> bytes(n);
  const auto got = memory.read_some(at, bytes);
  if (!got) return fail(got.error());
  bytes.resize(std::min<std::size_t>(*got, n));
  return bytes;
}

/// Where the parts of debug information begin that the JIT wrote.
struct Parts {
  Address inlined = 0;  ///< 0: not recorded
  std::uint32_t inlined_bytes = 0;
  Address lengths = 0;  ///< of the bounds
};

Result<Parts> parts_of(const MemoryReader& memory, Address at, IlMapForm form) {
  Parts parts;
  const auto flags = memory.read<std::uint8_t>(at);
  if (!flags) return fail(flags.error());
  if ((*flags & ~(kHasPatchpoints | kHasInlined)) != 0) return fail(ErrorCode::malformed, at);
  at++;
  if ((*flags & kHasPatchpoints) != 0) {
    // PatchpointInfo (src/coreclr/inc/patchpointinfo.h): numbers, then a word for each local. .NET 10 has two more.
    const bool is_short = form == IlMapForm::nibbles;
    const Address count_at = is_short ? 8 : 16, header = is_short ? 32 : 40;
    const auto locals = memory.read<std::uint32_t>(at + count_at);
    if (!locals) return fail(locals.error());
    if (*locals > kMostPatchpoints) return fail(ErrorCode::limit_exceeded, *locals);
    at += header + 4 * Address{*locals};
  }
  if ((*flags & kHasInlined) != 0) {
    const auto bytes = memory.read<std::uint32_t>(at);
    if (!bytes) return fail(bytes.error());
    if (*bytes > kMostInlinedBytes) return fail(ErrorCode::limit_exceeded, *bytes);
    parts.inlined = at + 4;
    parts.inlined_bytes = *bytes;
    at += 4 + Address{*bytes};
  }
  parts.lengths = at;
  return parts;
}

Result<std::vector<IlMapRow>> decode_bounds(std::span<const std::byte> bytes) {
  Nibbles header(bytes);
  const std::uint32_t count = header.number();
  const unsigned native_bits = header.number() + 1, il_bits = header.number() + 1;
  if (!header.ok() || native_bits > kMostBits || il_bits > kMostBits) return fail(ErrorCode::malformed);
  Bits rows(bytes.subspan(header.whole_bytes()));
  const unsigned row_bits = kSourceBits + native_bits + il_bits;
  if (count > rows.left() / row_bits) return fail(ErrorCode::truncated, count);
  std::vector<IlMapRow> map;
  map.reserve(count);
  std::uint64_t native = 0;
  for (std::uint32_t i = 0; i < count; i++) {
    (void)rows.take(kSourceBits);
    native += rows.take(native_bits);
    const std::uint64_t il = rows.take(il_bits);
    if (native > kMostCode || il > kMostCode) return fail(ErrorCode::malformed, native);
    map.push_back({static_cast<std::uint32_t>(native), static_cast<std::int32_t>(il) + kFirstIl});
  }
  return map;
}

/// A count, and for each row how much further its native offset is, its IL offset and what the row is good for.
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

Result<std::vector<IlMapRow>> read_il_map(const MemoryReader& memory, Address blob, IlMapWriter writer,
                                          IlMapForm form) {
  if (writer == IlMapWriter::jit) {
    const auto parts = parts_of(memory, blob, form);
    if (!parts) return fail(parts.error());
    blob = parts->lengths;
  }
  constexpr std::size_t kLengths = 24;  // four numbers of up to eleven nibbles
  const auto lengths = some(memory, blob, kLengths);
  if (!lengths) return fail(lengths.error());
  Nibbles header(*lengths);
  std::uint32_t bounds = header.number();
  const bool is_instrumented = bounds == kInstrumented;
  if (is_instrumented) bounds = header.number();
  (void)header.number();  // of variables
  if (is_instrumented) (void)header.number();
  if (!header.ok()) return fail(ErrorCode::malformed, blob);
  if (bounds > kMostBytes) return fail(ErrorCode::limit_exceeded, bounds);
  std::vector<std::byte> bytes(bounds);
  if (const auto read = memory.read_exact(blob + header.whole_bytes(), bytes); !read) return fail(read.error());
  if (bytes.empty()) return std::vector<IlMapRow>{};
  return form == IlMapForm::nibbles ? decode_nibbles(bytes) : decode_bounds(bytes);
}

Result<RichDebugInfo> read_rich_debug_info(const MemoryReader& memory, Address blob, unsigned pointer_size,
                                           IlMapForm form) {
  const auto parts = parts_of(memory, blob, form);
  if (!parts) return fail(parts.error());
  if (parts->inlined == 0) return fail(ErrorCode::not_found, blob);
  std::vector<std::byte> bytes(parts->inlined_bytes);
  if (const auto read = memory.read_exact(parts->inlined, bytes); !read) return fail(read.error());
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

}  // namespace mixstack::dotnet
