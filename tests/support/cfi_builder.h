// Hand-assembled call frame information for tests: CIEs and FDEs byte by byte, sound unless asked otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::test {

/// Bytes in little-endian order.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::initializer_list<int> values) {
    for (const int v : values) u8(static_cast<unsigned>(v));
  }
  Bytes& u8(std::uint64_t v) { return put(v, 1); }
  Bytes& u16(std::uint64_t v) { return put(v, 2); }
  Bytes& u32(std::uint64_t v) { return put(v, 4); }
  Bytes& u64(std::uint64_t v) { return put(v, 8); }
  Bytes& uleb(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) u8((v & 0x7f) | 0x80);
    return u8(v);
  }
  Bytes& sleb(std::int64_t v) {
    for (; v < -64 || v > 63; v >>= 7) u8(static_cast<std::uint64_t>((v & 0x7f) | 0x80));
    return u8(static_cast<std::uint64_t>(v & 0x7f));
  }
  Bytes& text(std::string_view s) {
    for (const char c : s) u8(static_cast<unsigned char>(c));
    return u8(0);
  }
  Bytes& add(const Bytes& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  /// A block: its length, then itself.
  Bytes& block(const Bytes& other) { return uleb(other.size()).add(other); }
  Bytes& pad_to(std::size_t alignment) {
    while (size() % alignment != 0) u8(0);
    return *this;
  }
  void patch32(std::size_t at, std::uint64_t v) {
    for (unsigned i = 0; i < 4; i++) bytes_[at + i] = static_cast<std::byte>(v >> 8 * i);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  Bytes& put(std::uint64_t v, unsigned size) {
    for (unsigned i = 0; i < size; i++) bytes_.push_back(static_cast<std::byte>(v >> 8 * i));
    return *this;
  }
  std::vector<std::byte> bytes_;
};

struct CieSpec {
  unsigned version = 1;
  std::string_view augmentation = "zR";
  Bytes augmentation_data{0x1b};  ///< pcrel | sdata4
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  std::uint64_t ra_register = 16;
  Bytes instructions{0x0c, 7, 8, 0x90, 1};      ///< CFA = rsp + 8, rip at CFA - 8
  unsigned address_size = 8, segment_size = 0;  ///< written in version 4 only
};

/// Writes one section. Offsets are positions in it.
class CfiBuilder {
 public:
  static constexpr std::uint64_t kAddress = 0x20000, kHeaderAddress = 0x10000;

  explicit CfiBuilder(bool debug_frame = false, bool dwarf64 = false) : debug_frame_(debug_frame), dwarf64_(dwarf64) {}

  std::size_t cie(const CieSpec& spec = {}) {
    Bytes body;
    body.u8(spec.version).text(spec.augmentation);
    if (spec.version >= 4) body.u8(spec.address_size).u8(spec.segment_size);
    if (spec.augmentation == "eh") body.u64(0x1234);
    body.uleb(spec.code_alignment).sleb(spec.data_alignment);
    if (spec.version == 1) {
      body.u8(spec.ra_register);
    } else {
      body.uleb(spec.ra_register);
    }
    if (!spec.augmentation.empty() && spec.augmentation[0] == 'z') body.block(spec.augmentation_data);
    body.add(spec.instructions);
    return entry(body, debug_frame_ ? (dwarf64_ ? ~std::uint64_t{0} : 0xffffffffu) : 0);
  }

  /// With addresses in the default encodings: pcrel | sdata4 in .eh_frame, absolute in .debug_frame.
  std::size_t fde(std::size_t cie, std::uint64_t begin, std::uint64_t size, const Bytes& instructions) {
    Bytes body;
    if (debug_frame_) {
      body.u64(begin).u64(size);
    } else {
      body.u32(begin - (kAddress + bytes_.size() + head_size())).u32(size).uleb(0);
    }
    return raw_fde(cie, body.add(instructions));
  }
  /// With everything behind the CIE pointer given.
  std::size_t raw_fde(std::size_t cie, const Bytes& body) {
    return entry(body, debug_frame_ ? cie : bytes_.size() + (dwarf64_ ? 12 : 4) - cie);
  }
  void terminate() { bytes_.u32(0); }

  Bytes& bytes() { return bytes_; }
  /// From the start of an entry to its body.
  [[nodiscard]] std::size_t head_size() const { return dwarf64_ ? (debug_frame_ ? 20 : 16) : 8; }

  /// As an unwinder gets it. Borrows this builder.
  [[nodiscard]] images::UnwindSections sections(Arch arch = Arch::x86_64) const {
    images::UnwindSections out;
    out.arch = arch;
    auto& section = debug_frame_ ? out.debug_frame : out.eh_frame;
    section.address = kAddress;
    section.size = bytes_.size();
    section.bytes = bytes_.bytes();
    return out;
  }

 private:
  std::size_t entry(const Bytes& body, std::uint64_t id) {
    const std::size_t start = bytes_.size();
    const bool wide_id = dwarf64_ && debug_frame_;
    Bytes padded = body;
    while ((padded.size() + (wide_id ? 8 : 4)) % 4 != 0) padded.u8(0);
    const std::uint64_t length = padded.size() + (wide_id ? 8 : 4);
    if (dwarf64_) {
      bytes_.u32(0xffffffff).u64(length);
    } else {
      bytes_.u32(length);
    }
    if (wide_id) {
      bytes_.u64(id);
    } else {
      bytes_.u32(id);
    }
    bytes_.add(padded);
    return start;
  }

  bool debug_frame_, dwarf64_;
  Bytes bytes_;
};

/// .eh_frame_hdr with its table in the usual encoding, as given (not sorted here).
inline Bytes eh_frame_header(const std::vector<std::pair<std::uint64_t, std::size_t>>& entries) {
  Bytes out{1, 0x1b, 0x03, 0x3b};
  out.u32(CfiBuilder::kAddress - (CfiBuilder::kHeaderAddress + 4)).u32(entries.size());
  for (const auto& [code, fde] : entries)
    out.u32(code - CfiBuilder::kHeaderAddress).u32(CfiBuilder::kAddress + fde - CfiBuilder::kHeaderAddress);
  return out;
}

}  // namespace mixstack::test
