#include "engine/unwind/eh_frame_hdr.h"

namespace mixstack::unwind {
namespace {

PointerBases header_bases(std::uint64_t address, unsigned address_size) {
  PointerBases bases;
  bases.section = address;
  bases.data = address;  // datarel is relative to the start of .eh_frame_hdr here
  bases.address_size = address_size;
  return bases;
}

}  // namespace

std::optional<EhFrameHeader> read_eh_frame_hdr(std::span<const std::byte> bytes, std::uint64_t address,
                                               unsigned address_size) {
  base::ByteCursor cursor(bytes);
  const PointerBases bases = header_bases(address, address_size);
  if (cursor.u8() != 1) return std::nullopt;
  const std::uint8_t frame_encoding = cursor.u8();
  const std::uint8_t count_encoding = cursor.u8();
  EhFrameHeader header;
  header.table_encoding = cursor.u8();
  if (!cursor.ok()) return std::nullopt;
  if (frame_encoding != eh_pe::kOmit) {
    header.eh_frame_address = read_pointer(cursor, frame_encoding, bases);
    if (!header.eh_frame_address) return std::nullopt;
  }
  if (count_encoding == eh_pe::kOmit || header.table_encoding == eh_pe::kOmit) return header;
  const auto count = read_pointer(cursor, count_encoding, bases);
  if (!count || *count > cursor.remaining()) return std::nullopt;  // an entry has at least two bytes
  header.count = *count;
  header.table_offset = cursor.position();
  return header;
}

std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> decode_eh_frame_hdr_table(
    const EhFrameHeader& header, std::span<const std::byte> bytes, std::uint64_t address, unsigned address_size) {
  base::ByteCursor cursor(bytes, header.table_offset);
  const PointerBases bases = header_bases(address, address_size);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
  entries.reserve(static_cast<std::size_t>(header.count));
  for (std::uint64_t i = 0; i < header.count; i++) {
    const auto code = read_pointer(cursor, header.table_encoding, bases);
    if (!code) return std::nullopt;
    const auto fde = read_pointer(cursor, header.table_encoding, bases);
    if (!fde) return std::nullopt;
    entries.emplace_back(*code, *fde);
  }
  return entries;
}

}  // namespace mixstack::unwind
