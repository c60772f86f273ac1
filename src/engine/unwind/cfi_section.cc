#include "engine/unwind/cfi_section.h"

#include <algorithm>

namespace mixstack::unwind {
namespace {

/// Where the offset of a CIE is relative to (.eh_frame: the field itself, backwards) or absolute (.debug_frame).
void classify(const CfiSection& section, CfiEntry& entry, std::uint64_t id, std::uint64_t id_position) {
  if (section.flavour == CfiFlavour::eh_frame) {
    entry.is_cie = id == 0;
    entry.cie_offset = id_position - id;  // may wrap: checked by read_entry of that offset
  } else {
    entry.is_cie = id == (entry.is_dwarf64 ? ~std::uint64_t{0} : 0xffffffffu);
    entry.cie_offset = id;
  }
}

/// Reads the data behind an augmentation string that starts with 'z'.
Result<void> read_augmentation(const CfiSection& section, base::ByteCursor& cursor, std::string_view letters,
                               Cie& cie) {
  const std::uint64_t size = cursor.uleb();
  if (!cursor.ok() || size > cursor.remaining()) return fail(ErrorCode::truncated, cie.offset);
  const std::size_t end = cursor.position() + static_cast<std::size_t>(size);
  cie.has_augmentation_data = true;
  const PointerBases bases = section.bases(cie.address_size);
  for (std::size_t i = 0; i < letters.size(); i++) {
    switch (letters[i]) {
      case 'R':
        cie.fde_encoding = cursor.u8();
        break;
      case 'L':
        cie.lsda_encoding = cursor.u8();
        break;
      case 'P': {
        const std::uint8_t encoding = cursor.u8();
        if (!skip_pointer(cursor, encoding, bases)) return fail(ErrorCode::malformed, cie.offset);
        break;
      }
      case 'S':
        cie.is_signal_frame = true;
        break;
      case 'B':
        cie.signs_with_b_key = true;
        break;
      case 'G':
        break;  // AArch64 memory tagging of the frame: changes nothing for a reader
      default:
        // The size lets us skip what we do not know, unless the encoding of addresses may still be behind it.
        if (letters.find('R', i) != std::string_view::npos) return fail(ErrorCode::unsupported, cie.offset);
        i = letters.size();
        break;
    }
  }
  if (!cursor.ok() || cursor.position() > end) return fail(ErrorCode::malformed, cie.offset);
  cursor.seek(end);
  return {};
}

}  // namespace

Result<CfiEntry> read_entry(const CfiSection& section, std::uint64_t offset) {
  constexpr std::uint64_t kLongestHead = 20;
  if (offset >= section.bytes.size()) return fail(ErrorCode::malformed, offset);
  if (!section.ensure(offset, std::min<std::uint64_t>(kLongestHead, section.bytes.size() - offset)))
    return fail(ErrorCode::unreadable_memory, section.address + offset);
  base::ByteCursor cursor(section.bytes, static_cast<std::size_t>(offset));
  CfiEntry entry;
  entry.offset = offset;
  std::uint64_t length = cursor.u32();
  if (length == 0xffffffffu) {
    entry.is_dwarf64 = true;
    length = cursor.u64();
  } else if (length >= 0xfffffff0u) {
    return fail(ErrorCode::malformed, offset);  // reserved, DWARF 5 section 7.2.2
  }
  if (!cursor.ok() || length > cursor.remaining()) return fail(ErrorCode::truncated, offset);
  entry.next = cursor.position() + length;
  if (!section.ensure(offset, entry.next - offset)) return fail(ErrorCode::unreadable_memory, section.address + offset);
  if (length == 0) {
    entry.is_terminator = true;
    entry.body = entry.next;
    return entry;
  }
  const std::uint64_t id_position = cursor.position();
  // In .eh_frame the CIE pointer stays 4 bytes wide in 64-bit entries as GNU tools write and read them; .debug_frame
  // widens it.
  const bool wide_id = entry.is_dwarf64 && section.flavour == CfiFlavour::debug_frame;
  if (length < (wide_id ? 8u : 4u)) return fail(ErrorCode::truncated, offset);
  const std::uint64_t id = wide_id ? cursor.u64() : cursor.u32();
  entry.body = cursor.position();
  classify(section, entry, id, id_position);
  return entry;
}

Result<Cie> read_cie(const CfiSection& section, std::uint64_t offset) {
  const auto entry = read_entry(section, offset);
  if (!entry) return fail(entry.error());
  if (entry->is_terminator || !entry->is_cie) return fail(ErrorCode::malformed, offset);
  base::ByteCursor cursor(section.bytes.first(static_cast<std::size_t>(entry->next)),
                          static_cast<std::size_t>(entry->body));
  Cie cie;
  cie.offset = offset;
  cie.version = cursor.u8();
  if (cie.version != 1 && cie.version != 3 && cie.version != 4) return fail(ErrorCode::unsupported, cie.version);
  std::string_view augmentation = cursor.cstring();
  cie.address_size = static_cast<std::uint8_t>(section.address_size);
  if (cie.version >= 4) {
    cie.address_size = cursor.u8();
    cie.segment_size = cursor.u8();
  }
  if (cie.address_size != 4 && cie.address_size != 8) return fail(ErrorCode::unsupported, offset);
  if (augmentation == "eh") {  // GCC 2: the address of a table follows
    cursor.skip(cie.address_size);
    augmentation = {};
  }
  cie.code_alignment = cursor.uleb();
  cie.data_alignment = cursor.sleb();
  cie.ra_register = cie.version == 1 ? cursor.u8() : cursor.uleb();
  if (!cursor.ok()) return fail(ErrorCode::truncated, offset);
  if (!augmentation.empty()) {
    if (augmentation[0] != 'z') return fail(ErrorCode::unsupported, offset);
    if (auto r = read_augmentation(section, cursor, augmentation.substr(1), cie); !r) return fail(r.error());
  }
  cie.instructions_begin = cursor.position();
  cie.instructions_end = entry->next;
  return cie;
}

Result<Fde> read_fde(const CfiSection& section, const CfiEntry& entry, const Cie& cie) {
  base::ByteCursor cursor(section.bytes.first(static_cast<std::size_t>(entry.next)),
                          static_cast<std::size_t>(entry.body));
  Fde fde;
  fde.offset = entry.offset;
  cursor.skip(cie.segment_size);
  const PointerBases bases = section.bases(cie.address_size);
  const auto begin = read_pointer(cursor, cie.fde_encoding, bases);
  if (!begin) return fail(ErrorCode::malformed, entry.offset);
  const auto size = read_pointer(cursor, cie.fde_encoding & eh_pe::kFormatMask, bases);
  if (!size) return fail(ErrorCode::malformed, entry.offset);
  fde.pc_begin = *begin;
  fde.pc_end = *begin + *size;
  if (fde.pc_end < fde.pc_begin) return fail(ErrorCode::malformed, entry.offset);
  if (cie.has_augmentation_data) cursor.skip(cursor.uleb());
  if (!cursor.ok()) return fail(ErrorCode::truncated, entry.offset);
  fde.instructions_begin = cursor.position();
  fde.instructions_end = entry.next;
  return fde;
}

}  // namespace mixstack::unwind
