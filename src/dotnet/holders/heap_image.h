// Bytes of a process as they were at one moment.
#pragma once

#include <span>
#include <vector>

#include "base/memory/page_vector.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::holders {

/// Copies of pieces of memory, and what lies outside of them from elsewhere: but for ranges whose bytes may have been
/// others at that moment, which cannot be read unless they were copied. Borrows the memory below.
class HeapImage final : public MemoryReader {
 public:
  /// `below`, for large reads `bulk`: the same memory, as it is now, through a cache and past it.
  HeapImage(const MemoryReader& below, const MemoryReader& bulk) : below_(below), bulk_(bulk) {}

  /// Room for `bytes` in so many pieces, written to at once, so that no page is missing when it is filled.
  void reserve(std::size_t bytes, std::size_t pieces) {
    room_.assign(bytes, std::byte{1});
    pieces_.resize(pieces);
    clear();
  }
  static constexpr std::uint64_t kBytesAPiece = 24;  ///< of our own memory
  [[nodiscard]] std::size_t left() const { return room_.size() - used_; }
  [[nodiscard]] std::size_t used() const { return used_; }
  /// Room for a piece; empty: there is none. Pieces may be added in any order, and are found after `sort`.
  [[nodiscard]] std::span<std::byte> add(AddressRange range);
  void sort();
  /// Gives room back that no piece took; there is none left then.
  void close();
  /// Forgets the pieces.
  void clear();
  /// Where only copies count; none, as at first: a core, which holds still.
  void set_moving(std::vector<AddressRange> moving);

  /// All pieces: `f(address, bytes)`.
  template <class F>
  void each(F f) {
    for (const Piece& p : pieces_)
      f(p.range.begin, std::span(room_).subspan(p.offset, static_cast<std::size_t>(p.range.size())));
  }
  [[nodiscard]] const MemoryReader& below() const { return below_; }

  /// The copied bytes from an address on, at most `most`; empty: none.
  [[nodiscard]] std::span<const std::byte> bytes_at(Address address, std::uint64_t most) const;
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  [[nodiscard]] bool has_whole_pages() const override { return false; }

 private:
  struct Piece {
    AddressRange range;
    std::size_t offset = 0;
  };
  static constexpr std::size_t kBulk = 1 << 16;

  const MemoryReader& below_;
  const MemoryReader& bulk_;
  std::vector<AddressRange> moving_;  ///< by address
  std::vector<std::byte> room_;
  std::size_t used_ = 0;
  static_assert(sizeof(Piece) == kBytesAPiece);
  memory::PageVector<Piece> pieces_;
  mutable std::size_t latest_ = 0;
};

}  // namespace mixstack::dotnet::holders
