#include "dotnet/code/gc_ref_map.h"

#include <array>
#include <cstring>

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kStride = 1024;  // maps for each entry of the look-up table
constexpr std::size_t kMostMapBytes = 1 << 12;
constexpr std::uint8_t kGoesOn = 0x80;  // of each byte but the last one of a map

/// READYTORUN_IMPORT_SECTION.
struct ImportSection {
  std::uint32_t rva, size;
  std::uint16_t flags;
  std::uint8_t type, entry_size;
  std::uint32_t signatures, auxiliary_data;
};
static_assert(sizeof(ImportSection) == 20);

Result<Address> pass_maps(const MemoryReader& memory, Address at, std::uint32_t count) {
  std::array<std::byte, 512> bytes{};
  for (std::size_t passed = 0; count != 0 && passed < kMostMapBytes * kStride;) {
    const auto read = memory.read_some(at, bytes);
    if (!read) return fail(read.error());
    std::size_t used = 0;
    while (count != 0 && used < *read)
      if ((std::to_integer<std::uint8_t>(bytes[used++]) & kGoesOn) == 0) count--;
    at += used;
    passed += used;
  }
  return count == 0 ? Result<Address>(at) : fail(ErrorCode::limit_exceeded, at);
}

/// Bits, seven in each byte; behind the last byte there are zeros.
class Bits {
 public:
  explicit Bits(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint32_t bits(unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; i++) value |= bit() << i;
    return value;
  }
  /// Groups of three bits, each with one behind it that says whether another follows.
  [[nodiscard]] std::uint32_t number() {
    std::uint32_t value = 0;
    for (unsigned at = 0; at < 30; at += 3) {
      value |= bits(3) << at;
      if (bits(1) == 0) return value;
    }
    is_ok_ = false;
    return 0;
  }
  /// Only zeros are left.
  [[nodiscard]] bool is_at_end() const { return !goes_on_ && pending_ == 0; }
  [[nodiscard]] bool ok() const { return is_ok_; }

 private:
  [[nodiscard]] std::uint32_t bit() {
    if (left_ == 0 && goes_on_) {
      if (bytes_.empty()) {
        is_ok_ = goes_on_ = false;
        return 0;
      }
      const auto byte = std::to_integer<std::uint8_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      goes_on_ = (byte & kGoesOn) != 0;
      pending_ = byte & (kGoesOn - 1);
      left_ = 7;
    }
    const std::uint32_t value = pending_ & 1;
    pending_ >>= 1;
    if (left_ != 0) left_--;
    return value;
  }

  std::span<const std::byte> bytes_;
  std::uint32_t pending_ = 0;
  unsigned left_ = 0;
  bool goes_on_ = true, is_ok_ = true;
};

}  // namespace

Result<Address> find_gc_ref_map(const MemoryReader& memory, Address image_base, const AddressRange& import_sections,
                                Address slot) {
  constexpr std::size_t kMostSections = 4096;
  if (slot < image_base || slot - image_base > 0xffffffffu) return fail(ErrorCode::not_found, slot);
  const auto rva = static_cast<std::uint32_t>(slot - image_base);
  const std::uint64_t count = import_sections.size() / sizeof(ImportSection);
  if (count > kMostSections) return fail(ErrorCode::limit_exceeded, count);
  for (std::uint64_t i = 0; i < count; i++) {
    const auto s = memory.read<ImportSection>(import_sections.begin + i * sizeof(ImportSection));
    if (!s) return fail(s.error());
    if (rva < s->rva || rva - s->rva >= s->size) continue;
    if (s->entry_size == 0 || s->auxiliary_data == 0) return fail(ErrorCode::not_found, slot);
    const std::uint32_t index = (rva - s->rva) / s->entry_size;
    const Address table = image_base + s->auxiliary_data;
    const auto offset = memory.read<std::uint32_t>(table + Address{index / kStride} * 4);
    if (!offset) return fail(offset.error());
    return pass_maps(memory, table + *offset, index % kStride);
  }
  return fail(ErrorCode::not_found, slot);
}

Result<std::vector<GcRefMapEntry>> decode_gc_ref_map(std::span<const std::byte> bytes) {
  // Tokens: 0 no reference, 1 a reference, 2 an interior reference, 3 with a number: words to skip, or a token from 3
  // on, which is no object reference either.
  constexpr std::uint32_t kReference = 1, kInterior = 2, kMore = 3, kLeastPassed = 4;
  Bits in(bytes);
  std::vector<GcRefMapEntry> found;
  std::uint32_t position = 0;
  while (!in.is_at_end() && in.ok()) {
    if (position >= kMostGcRefMapWords) return fail(ErrorCode::limit_exceeded, position);
    const std::uint32_t token = in.bits(2);
    const std::uint32_t more = token == kMore ? in.number() : 1;
    if (!in.ok()) break;
    if (token == kReference || token == kInterior) found.push_back({position, token == kInterior});
    position += (more & 1) != 0 ? 1 : (more >> 1) + kLeastPassed;
  }
  if (!in.ok()) return fail(ErrorCode::truncated, position);
  return found;
}

Result<std::vector<GcRefMapEntry>> read_gc_ref_map(const MemoryReader& memory, Address map) {
  std::vector<std::byte> bytes(kMostMapBytes);
  const auto count = memory.read_some(map, bytes);
  if (!count) return fail(count.error());
  return decode_gc_ref_map(std::span(bytes).first(*count));
}

}  // namespace mixstack::dotnet
