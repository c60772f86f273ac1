// A section whose bytes are fetched from its image piece by piece, as entries are looked at: unwinding one stack
// touches a few kilobytes of what may be megabytes of call frame information.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::unwind {

/// Knows which pieces of a section are present. Thread-safe. Borrows the image.
class LazySection {
 public:
  LazySection(const images::ElfImage& image, std::uint64_t address, std::uint64_t size);

  /// The section's bytes; read only pieces that were ensured. Empty: the image does not hold the section.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// Makes [offset, offset + size) readable. False when it is not all in the image.
  [[nodiscard]] bool ensure(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return false;
    if (size == 0) return true;
    const std::uint64_t last = (offset + size - 1) / kPiece;
    for (std::uint64_t piece = offset / kPiece; piece <= last; piece++)
      if (!present_[piece].load(std::memory_order_acquire) && !fetch(piece)) return false;
    return true;
  }

 private:
  static constexpr std::uint64_t kPiece = 4 << 10;
  [[nodiscard]] bool fetch(std::uint64_t piece) const;

  const images::ElfImage& image_;
  std::uint64_t address_;
  std::span<const std::byte> bytes_;
  mutable std::vector<std::atomic<bool>> present_;
};

/// The unwind sections of an image with .eh_frame left to be fetched: `eh_frame.bytes` is empty, address and size are
/// set. Nothing where the image does not have the usual sections (then ask ElfImage::unwind_sections).
[[nodiscard]] std::optional<images::UnwindSections> lazy_unwind_sections(const images::ElfImage& image);

}  // namespace mixstack::unwind
