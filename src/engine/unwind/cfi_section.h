// One section of call frame information and the entries (CIE, FDE) in it. Two flavours: .eh_frame (LSB 5.0 section
// 10.6, twin of the GCC unwinder's format) and .debug_frame (DWARF 2 to 5 section 6.4.1).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/unwind/cfi_pointer.h"
#include "engine/unwind/lazy_section.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

enum class CfiFlavour : std::uint8_t { eh_frame, debug_frame };

/// The bytes of a section, and the bases of its pointers. Borrows the bytes.
struct CfiSection {
  CfiFlavour flavour = CfiFlavour::eh_frame;
  Arch arch = Arch::unknown;
  unsigned address_size = 8;
  std::span<const std::byte> bytes;
  std::uint64_t address = 0;  ///< of the first byte, at link time
  std::uint64_t text_address = 0, data_address = 0;
  const BytesAt* image = nullptr;
  const LazySection* lazy = nullptr;  ///< null: all bytes are present
  bool corrects_known_errors = true;  ///< known_cfi_errors.h

  /// Call before reading any byte of an entry.
  [[nodiscard]] bool ensure(std::uint64_t offset, std::uint64_t size) const {
    return lazy == nullptr || lazy->ensure(offset, size);
  }
  [[nodiscard]] PointerBases bases(unsigned size, std::uint64_t function = 0) const {
    return {address, text_address, data_address, function, size, image};
  }
};

/// The start of any entry. `offset`s are from the start of the section.
struct CfiEntry {
  std::uint64_t offset = 0;
  std::uint64_t body = 0;        ///< first byte behind length and CIE id or pointer
  std::uint64_t next = 0;        ///< first byte behind the entry
  std::uint64_t cie_offset = 0;  ///< of an FDE
  bool is_terminator = false;    ///< length zero: padding, or the end for some readers
  bool is_cie = false;
  bool is_dwarf64 = false;
};

/// Common information entry.
struct Cie {
  std::uint64_t offset = 0;
  std::uint64_t instructions_begin = 0, instructions_end = 0;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint64_t ra_register = 0;
  std::uint8_t version = 0;
  std::uint8_t address_size = 8;
  std::uint8_t segment_size = 0;
  std::uint8_t fde_encoding = eh_pe::kAbsPtr;  ///< 'R'
  std::uint8_t lsda_encoding = eh_pe::kOmit;   ///< 'L'
  bool has_augmentation_data = false;          ///< 'z'
  bool is_signal_frame = false;                ///< 'S'
  bool signs_with_b_key = false;               ///< 'B' (AArch64)
};

/// Frame description entry.
struct Fde {
  std::uint64_t offset = 0;
  std::uint64_t pc_begin = 0, pc_end = 0;
  std::uint64_t instructions_begin = 0, instructions_end = 0;
};

/// `malformed` or `truncated` (value = offset) where there is no entry.
[[nodiscard]] Result<CfiEntry> read_entry(const CfiSection& section, std::uint64_t offset);
/// Additionally `unsupported` for a version or augmentation whose meaning is not known.
[[nodiscard]] Result<Cie> read_cie(const CfiSection& section, std::uint64_t offset);
[[nodiscard]] Result<Fde> read_fde(const CfiSection& section, const CfiEntry& entry, const Cie& cie);

}  // namespace mixstack::unwind
