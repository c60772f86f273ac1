// .eh_frame_hdr: the linker's sorted table of FDEs (LSB 5.0 section 10.6.2).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "engine/unwind/cfi_section.h"

namespace mixstack::unwind {

/// The head of the section, checked against the bytes held.
struct EhFrameHeader {
  std::optional<std::uint64_t> eh_frame_address;
  std::uint8_t table_encoding = eh_pe::kOmit;
  std::uint64_t count = 0;       ///< entries of the table
  std::size_t table_offset = 0;  ///< of the first entry
};

/// Nothing where the version is unknown or the head is cut short. A table that was omitted has count 0.
[[nodiscard]] std::optional<EhFrameHeader> read_eh_frame_hdr(std::span<const std::byte> bytes, std::uint64_t address,
                                                             unsigned address_size);

/// Decodes a table of any encoding into (code, FDE) addresses. Nothing when an entry cannot be read.
[[nodiscard]] std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> decode_eh_frame_hdr_table(
    const EhFrameHeader& header, std::span<const std::byte> bytes, std::uint64_t address, unsigned address_size);

}  // namespace mixstack::unwind
