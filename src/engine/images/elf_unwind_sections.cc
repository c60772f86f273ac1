#include "engine/images/elf_unwind_sections.h"

#include <elf.h>

#include <algorithm>

#include "base/system/byte_cursor.h"
#include "engine/images/elf_dynamic.h"

namespace mixstack::images {
namespace {

// Pointer encodings (LSB "DWARF Exception Header Encoding").
constexpr std::uint8_t kEncodingOmit = 0xff, kFormatMask = 0x0f, kRelativeMask = 0x70;
constexpr std::uint8_t kAbsolute = 0x00, kUdata2 = 0x02, kUdata4 = 0x03, kUdata8 = 0x04, kSdata2 = 0x0a, kSdata4 = 0x0b,
                       kSdata8 = 0x0c;
constexpr std::uint8_t kAbsoluteBase = 0x00, kPcRelative = 0x10, kDataRelative = 0x30;

/// All bytes from `address` to the end of the file part of its segment.
std::span<const std::byte> bytes_to_segment_end(const ElfImage& image, std::uint64_t address) {
  for (const auto& s : image.segments()) {
    if (s.type != PT_LOAD || address - s.vaddr >= s.file_size) continue;
    return image.bytes_at(address, static_cast<std::size_t>(s.file_size - (address - s.vaddr)));
  }
  return {};
}

/// The eh_frame_ptr of .eh_frame_hdr (LSB "The .eh_frame_hdr section").
std::optional<std::uint64_t> eh_frame_pointer(std::span<const std::byte> header, std::uint64_t address,
                                              bool is_64_bit) {
  base::ByteCursor cursor(header);
  const std::uint8_t version = cursor.u8();
  const std::uint8_t encoding = cursor.u8();
  cursor.skip(2);
  if (!cursor.ok() || version != 1 || encoding == kEncodingOmit) return std::nullopt;
  std::uint64_t value = 0;
  switch (encoding & kFormatMask) {
    case kAbsolute:
      value = is_64_bit ? cursor.u64() : cursor.u32();
      break;
    case kUdata2:
      value = cursor.u16();
      break;
    case kUdata4:
      value = cursor.u32();
      break;
    case kUdata8:
    case kSdata8:
      value = cursor.u64();
      break;
    case kSdata2:
      value = static_cast<std::uint64_t>(std::int64_t{cursor.read<std::int16_t>()});
      break;
    case kSdata4:
      value = static_cast<std::uint64_t>(std::int64_t{cursor.read<std::int32_t>()});
      break;
    default:
      return std::nullopt;
  }
  switch (encoding & kRelativeMask) {
    case kAbsoluteBase:
      break;
    case kPcRelative:
      value += address + 4;
      break;
    case kDataRelative:
      value += address;
      break;
    default:
      return std::nullopt;
  }
  if (!cursor.ok()) return std::nullopt;
  return is_64_bit ? value : value & 0xffffffffu;
}

/// An FDE names its CIE by the distance back from the field itself; a CIE has 0 in that place.
bool points_to_cie(std::span<const std::byte> bytes, std::size_t id_at, std::uint32_t distance) {
  if (distance > id_at) return false;
  const std::size_t cie = id_at - distance;
  const bool extended = base::load_at<std::uint32_t>(bytes, cie) == 0xffffffffu;
  return base::load_at<std::uint32_t>(bytes, cie + (extended ? 12 : 4)) == 0u;
}

/// Length of the sound run of entries at the start of `bytes`. An entry is sound when it ends inside, and is a CIE or
/// an FDE that points back to a CIE; what follows .eh_frame in its segment is not.
std::size_t sound_length(std::span<const std::byte> bytes) {
  base::ByteCursor cursor(bytes);
  std::size_t sound = 0;
  while (cursor.remaining() >= 4) {
    std::uint64_t length = cursor.u32();
    if (length == 0) return cursor.position();
    if (length == 0xffffffffu) length = cursor.u64();
    const std::size_t id_at = cursor.position();
    const auto entry = cursor.bytes(length);
    if (!cursor.ok() || entry.size() < 5) break;
    const auto id = *base::load_at<std::uint32_t>(entry, 0);
    const auto version = std::to_integer<unsigned>(entry[4]);
    if (id == 0 ? version != 1 && version != 3 && version != 4 : !points_to_cie(bytes, id_at, id)) break;
    sound = cursor.position();
  }
  return sound;
}

Section loaded(const ElfImage& image, std::string_view name) {
  auto s = image.section(name);
  return s && s->type != SHT_NOBITS ? *s : Section{};
}

void find_through_segments(const ElfImage& image, UnwindSections& out) {
  for (const auto& s : image.segments()) {
    if (s.type != PT_GNU_EH_FRAME || !out.eh_frame_hdr.bytes.empty()) continue;
    out.eh_frame_hdr = {".eh_frame_hdr",
                        SHT_PROGBITS,
                        SHF_ALLOC,
                        s.vaddr,
                        s.offset,
                        s.file_size,
                        0,
                        0,
                        0,
                        image.bytes_at(s.vaddr, static_cast<std::size_t>(s.file_size))};
  }
  if (!out.eh_frame.bytes.empty() || out.eh_frame_hdr.bytes.empty()) return;
  const auto address = eh_frame_pointer(out.eh_frame_hdr.bytes, out.eh_frame_hdr.address, out.is_64_bit);
  if (!address) return;
  const auto bytes = measure_eh_frame(image, *address);
  out.eh_frame = {".eh_frame", SHT_PROGBITS, SHF_ALLOC, *address, 0, bytes.size(), 0, 0, 0, bytes};
}

}  // namespace

std::span<const std::byte> measure_eh_frame(const ElfImage& image, std::uint64_t address) {
  const auto bytes = bytes_to_segment_end(image, address);
  return bytes.first(sound_length(bytes));
}

UnwindSections find_unwind_sections(const ElfImage& image) {
  UnwindSections out;
  out.arch = image.arch();
  out.is_64_bit = image.is_64_bit();
  out.eh_frame_hdr = loaded(image, ".eh_frame_hdr");
  out.eh_frame = loaded(image, ".eh_frame");
  out.debug_frame = loaded(image, ".debug_frame");
  if (out.debug_frame.bytes.empty()) out.debug_frame = loaded(image, ".zdebug_frame");
  find_through_segments(image, out);
  for (const auto& s : image.sections()) {
    if (s.name == ".text") out.text_address = s.address;
    if (s.name == ".got" && out.data_address == 0) out.data_address = s.address;
  }
  if (const auto dynamic = read_dynamic(image, false); dynamic.plt_got != 0) out.data_address = dynamic.plt_got;
  for (const auto& s : image.segments())
    if (out.text_address == 0 && s.type == PT_LOAD && (s.flags & PF_X) != 0) out.text_address = s.vaddr;
  return out;
}

}  // namespace mixstack::images
