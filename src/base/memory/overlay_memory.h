// Captured bytes in front of other memory.
#pragma once

#include <span>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/target.h"

namespace mixstack::memory {

/// Answers from captured slices where they reach and from another reader everywhere else, so that a walk sees one
/// instant's stacks over a process that runs on. Borrows the slices' bytes and the reader behind. Where slices overlap
/// the earlier one counts. Immutable after construction: as thread-safe as the reader behind.
class OverlayMemory final : public MemoryReader {
 public:
  /// `behind` may be null: then only captured bytes are readable.
  OverlayMemory(std::span<const MemorySlice> slices, const MemoryReader* behind);
  /// The stacks and roots of a capture, stacks first.
  OverlayMemory(const Capture& capture, const MemoryReader* behind);

  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  /// Whether a byte comes from a slice.
  [[nodiscard]] bool holds(Address address) const;

 private:
  [[nodiscard]] Result<std::size_t> read_piece(Address address, std::span<std::byte> out) const;
  using Pieces = std::vector<MemorySlice>;
  /// Adds the parts of `slice` that no earlier slice covers.
  void add(MemorySlice slice);
  [[nodiscard]] Pieces::const_iterator first_ending_after(Address address) const;

  Pieces pieces_;  // disjoint, ascending
  const MemoryReader* behind_;
};

}  // namespace mixstack::memory
