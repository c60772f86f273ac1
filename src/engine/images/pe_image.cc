#include "engine/images/pe_image.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"

namespace mixstack::images {
namespace {

constexpr std::uint16_t kDosMagic = 0x5a4d;         // "MZ"
constexpr std::uint32_t kPeSignature = 0x00004550;  // "PE\0\0"
constexpr std::uint64_t kNewHeaderOffset = 0x3c;    // e_lfanew
constexpr std::uint64_t kMaxNewHeader = 1u << 20;
constexpr std::uint16_t kPe32 = 0x10b, kPe32Plus = 0x20b;
constexpr std::uint16_t kMaxSections = 96;  // the limit of Windows' loader
constexpr std::size_t kFileHeaderSize = 20, kSectionSize = 40, kCliHeaderSize = 72;

constexpr std::array<std::pair<std::uint16_t, PeOs>, 6> kSystems{{
    {std::uint16_t{0}, PeOs::windows},
    {std::uint16_t{0x7b79}, PeOs::linux},
    {std::uint16_t{0x4644}, PeOs::apple},
    {std::uint16_t{0xadc4}, PeOs::freebsd},
    {std::uint16_t{0x1993}, PeOs::netbsd},
    {std::uint16_t{0x1992}, PeOs::sun},
}};

PeDirectory read_directory(base::ByteCursor& cursor) {
  PeDirectory d;
  d.rva = cursor.u32();
  d.size = cursor.u32();
  return d;
}

}  // namespace

PeMachine decode_pe_machine(std::uint16_t raw) {
  for (const auto& [mask, os] : kSystems)
    if (const Arch arch = arch::cpu_of_pe(static_cast<std::uint16_t>(raw ^ mask)); arch != Arch::unknown)
      return {raw, arch, os};
  return {raw, Arch::unknown, PeOs::unknown};
}

Result<PeImage> PeImage::from_bytes(std::span<const std::byte> bytes, PeLayout layout) {
  PeImage image;
  image.bytes_ = bytes;
  image.size_ = bytes.size();
  image.layout_ = layout;
  return parse(std::move(image));
}

Result<PeImage> PeImage::from_memory(const MemoryReader& memory, Address base, PeLayout layout, std::uint64_t size) {
  PeImage image;
  image.memory_ = &memory;
  image.base_ = base;
  image.layout_ = layout;
  image.size_ = size != 0 ? size : ~std::uint64_t{0} - base;
  auto parsed = parse(std::move(image));
  if (parsed && size == 0 && layout == PeLayout::mapped) parsed->size_ = parsed->size_of_image_;
  return parsed;
}

Result<void> PeImage::read_raw(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || size_ - offset < out.size()) return fail(ErrorCode::truncated, offset);
  if (memory_ != nullptr) return memory_->read_exact(base_ + offset, out);
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

template <class T>
Result<T> PeImage::raw(std::uint64_t offset) const {
  T value{};
  auto r = read_raw(offset, std::as_writable_bytes(std::span<T, 1>(&value, 1)));
  if (!r) return fail(r.error());
  return value;
}

Result<void> PeImage::read_sections(std::uint64_t offset, std::uint16_t count) {
  if (count > kMaxSections) return fail(ErrorCode::limit_exceeded, count);
  std::array<std::byte, kSectionSize * kMaxSections> table;
  const auto used = std::span(table).first(kSectionSize * count);
  if (auto r = read_raw(offset, used); !r) return fail(r.error());
  sections_.reserve(count);
  for (std::size_t i = 0; i < count; i++) {
    base::ByteCursor cursor(used, i * kSectionSize);
    PeSection s;
    std::memcpy(s.name.data(), cursor.bytes(s.name.size()).data(), s.name.size());
    s.virtual_size = cursor.u32();
    s.rva = cursor.u32();
    s.raw_size = cursor.u32();
    s.raw_offset = cursor.u32();
    cursor.skip(12);  // relocations and line numbers
    s.flags = cursor.u32();
    sections_.push_back(s);
  }
  return {};
}

Result<PeImage> PeImage::parse(PeImage image) {
  const auto magic = image.raw<std::uint16_t>(0);
  if (!magic) return fail(magic.error());
  if (*magic != kDosMagic) return fail(ErrorCode::malformed, *magic);
  const auto new_header = image.raw<std::uint32_t>(kNewHeaderOffset);
  if (!new_header) return fail(new_header.error());
  if (*new_header > kMaxNewHeader) return fail(ErrorCode::malformed, *new_header);

  // Signature, file header and the fixed part of the optional header with all sixteen directories (PE32+: 240 bytes).
  std::array<std::byte, 4 + kFileHeaderSize + 240> buffer{};
  const std::uint64_t available =
      std::min<std::uint64_t>(buffer.size(), image.size_ - std::min<std::uint64_t>(image.size_, *new_header));
  if (auto r = image.read_raw(*new_header, std::span(buffer).first(static_cast<std::size_t>(available))); !r)
    return fail(r.error());
  base::ByteCursor cursor(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(available)));
  if (cursor.u32() != kPeSignature) return fail(ErrorCode::malformed, *new_header);
  image.machine_ = decode_pe_machine(cursor.u16());
  const std::uint16_t section_count = cursor.u16();
  image.timestamp_ = cursor.u32();
  cursor.skip(8);  // symbol table, deprecated
  const std::uint16_t optional_size = cursor.u16();
  cursor.skip(2);
  const std::uint64_t sections_at = *new_header + cursor.position() + optional_size;

  const std::size_t optional = cursor.position();
  const std::uint16_t kind = cursor.u16();
  if (!cursor.ok() || (kind != kPe32 && kind != kPe32Plus)) return fail(ErrorCode::malformed, kind);
  image.is_pe32_plus_ = kind == kPe32Plus;
  cursor.seek(optional + (image.is_pe32_plus_ ? 24 : 28));
  image.preferred_base_ = image.is_pe32_plus_ ? cursor.u64() : cursor.u32();
  cursor.seek(optional + 56);
  image.size_of_image_ = cursor.u32();
  image.size_of_headers_ = cursor.u32();
  cursor.seek(optional + (image.is_pe32_plus_ ? 108 : 92));
  const std::uint32_t claimed = cursor.u32();
  if (!cursor.ok()) return fail(ErrorCode::truncated, *new_header);
  const std::size_t end = optional + optional_size;
  const std::size_t room = end > cursor.position() ? (end - cursor.position()) / 8 : 0;
  image.directory_count_ = static_cast<std::uint32_t>(std::min({std::size_t{claimed}, std::size_t{16}, room}));
  for (std::size_t i = 0; i < image.directory_count_; i++) image.directories_[i] = read_directory(cursor);
  if (!cursor.ok()) return fail(ErrorCode::truncated, *new_header);
  if (auto r = image.read_sections(sections_at, section_count); !r) return fail(r.error());
  return image;
}

PeDirectory PeImage::directory(PeDirectoryId id) const {
  const auto i = static_cast<unsigned>(id);
  return i < directory_count_ ? directories_[i] : PeDirectory{};
}

Result<std::uint64_t> PeImage::offset_of(std::uint32_t rva, std::uint64_t size) const {
  const std::uint64_t end = std::uint64_t{rva} + size;
  if (size > 0xffffffffu) return fail(ErrorCode::malformed, rva);
  if (layout_ == PeLayout::mapped) {
    if (end > size_of_image_ || end > size_) return fail(ErrorCode::malformed, rva);
    return std::uint64_t{rva};
  }
  for (const auto& s : sections_) {
    // The stored part: the bytes in the file, without padding behind the section's real size.
    const std::uint64_t stored = s.virtual_size == 0 ? s.raw_size : std::min(s.raw_size, s.virtual_size);
    if (rva < s.rva || end > s.rva + stored) continue;
    const std::uint64_t offset = std::uint64_t{s.raw_offset} + (rva - s.rva);
    if (offset > size_ || size_ - offset < size) return fail(ErrorCode::truncated, rva);
    return offset;
  }
  if (end <= size_of_headers_ && end <= size_) return std::uint64_t{rva};
  return fail(ErrorCode::malformed, rva);
}

Result<Address> PeImage::address_of(std::uint32_t rva, std::uint64_t size) const {
  auto offset = offset_of(rva, size);
  if (!offset) return fail(offset.error());
  return base_ + *offset;
}

Result<void> PeImage::read(std::uint32_t rva, std::span<std::byte> out) const {
  auto offset = offset_of(rva, out.size());
  if (!offset) return fail(offset.error());
  return read_raw(*offset, out);
}

std::span<const std::byte> PeImage::bytes(std::uint32_t rva, std::uint64_t size) const {
  if (memory_ != nullptr) return {};
  const auto offset = offset_of(rva, size);
  if (!offset) return {};
  return bytes_.subspan(static_cast<std::size_t>(*offset), static_cast<std::size_t>(size));
}

Result<CliHeader> PeImage::cli_header() const {
  const auto where = directory(PeDirectoryId::cli_header);
  if (where.empty()) return fail(ErrorCode::not_found);
  if (where.size < kCliHeaderSize) return fail(ErrorCode::truncated, where.rva);
  std::array<std::byte, kCliHeaderSize> buffer;
  if (auto r = read(where.rva, buffer); !r) return fail(r.error());
  base::ByteCursor cursor{std::span<const std::byte>(buffer)};
  CliHeader h;
  if (cursor.u32() < kCliHeaderSize) return fail(ErrorCode::malformed, where.rva);
  h.major_runtime_version = cursor.u16();
  h.minor_runtime_version = cursor.u16();
  h.metadata = read_directory(cursor);
  h.flags = cursor.u32();
  h.entry_point = cursor.u32();
  h.resources = read_directory(cursor);
  cursor.skip(32);  // strong name, code manager table, vtable fixups, export address table jumps
  h.managed_native_header = read_directory(cursor);
  return h;
}

}  // namespace mixstack::images
