// Encoded pointers of .eh_frame and .eh_frame_hdr (DW_EH_PE_*).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/system/byte_cursor.h"

namespace mixstack::unwind {

/// Linux Standard Base Core 5.0, section 10.5.1 "DWARF Exception Header Encoding".
namespace eh_pe {
inline constexpr std::uint8_t kAbsPtr = 0x00, kUleb128 = 0x01, kUdata2 = 0x02, kUdata4 = 0x03, kUdata8 = 0x04,
                              kSleb128 = 0x09, kSdata2 = 0x0a, kSdata4 = 0x0b, kSdata8 = 0x0c, kFormatMask = 0x0f,
                              kPcRel = 0x10, kTextRel = 0x20, kDataRel = 0x30, kFuncRel = 0x40, kAligned = 0x50,
                              kApplicationMask = 0x70, kIndirect = 0x80, kOmit = 0xff;
}

/// Returns the bytes of the image at a link-time address, for indirect pointers; empty: none.
using BytesAt = std::function<std::span<const std::byte>(std::uint64_t address, std::size_t size)>;

/// The bases of relative encodings. All addresses are link-time addresses.
struct PointerBases {
  std::uint64_t section = 0;   ///< address of the first byte of the cursor's span
  std::uint64_t text = 0;      ///< DW_EH_PE_textrel
  std::uint64_t data = 0;      ///< DW_EH_PE_datarel
  std::uint64_t function = 0;  ///< DW_EH_PE_funcrel
  unsigned address_size = 8;
  const BytesAt* image = nullptr;  ///< null: indirect pointers cannot be read
};

/// An unsigned value of `address_size` (2, 4 or 8) bytes; other sizes fail the cursor.
[[nodiscard]] std::uint64_t read_address(base::ByteCursor& cursor, unsigned address_size);

/// The value of a pointer of the given encoding, or nothing when it cannot be read (omitted, beyond the end, unknown
/// format, unreadable indirection). The cursor has moved past it unless it failed.
[[nodiscard]] std::optional<std::uint64_t> read_pointer(base::ByteCursor& cursor, std::uint8_t encoding,
                                                        const PointerBases& bases);

/// Moves past a pointer without computing it (a personality routine: only its size matters). False on failure.
[[nodiscard]] bool skip_pointer(base::ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases);

}  // namespace mixstack::unwind
