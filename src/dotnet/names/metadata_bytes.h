// The bytes of one module's metadata, fetched from the target page by page as they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::names {

/// A contiguous run of bytes at a fixed place of our own memory, either borrowed whole or filled lazily. Core libraries
/// carry megabytes of metadata of which a stack needs some dozen pages, so nothing is copied before it is looked at.
/// Pointers and views it hands out stay valid as long as it lives. Not thread-safe (looking may load).
class MetadataBytes {
 public:
  static constexpr std::uint64_t kMaxSize = 256u << 20;  ///< larger blobs are refused
  static constexpr std::size_t kChunk = 4 << 10;         ///< unit of loading

  /// Borrows `bytes`; `owner` (may be null) is kept alive.
  [[nodiscard]] static std::shared_ptr<MetadataBytes> borrow(std::span<const std::byte> bytes,
                                                             std::shared_ptr<const void> owner);
  /// `size` bytes at `address`, read on demand. `memory` is borrowed and must outlive the object.
  /// Errors: `limit_exceeded`, `io_error` (no address space left).
  [[nodiscard]] static Result<std::shared_ptr<MetadataBytes>> lazy(const MemoryReader& memory, Address address,
                                                                   std::uint64_t size);
  MetadataBytes(const MetadataBytes&) = delete;
  MetadataBytes& operator=(const MetadataBytes&) = delete;
  ~MetadataBytes();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// `n` bytes at `offset`, or null when they do not all lie inside or cannot be read.
  [[nodiscard]] const std::byte* at(std::uint64_t offset, std::uint64_t n) const {
    if (offset > size_ || n > size_ - offset) return nullptr;
    if (memory_ != nullptr && !ensure(offset, n)) return nullptr;
    return data_ + offset;
  }
  /// The text at `offset` up to a NUL, `end` or `limit` bytes, whichever comes first. Empty when unreadable.
  [[nodiscard]] std::string_view text(std::uint64_t offset, std::uint64_t end, std::uint64_t limit) const;
  /// How many bytes were loaded from the target.
  [[nodiscard]] std::uint64_t loaded() const { return loaded_; }
  /// True when some chunk could not be read.
  [[nodiscard]] bool has_holes() const { return has_holes_; }

 private:
  enum class Chunk : std::uint8_t { absent, present, unreadable };
  MetadataBytes() = default;
  [[nodiscard]] bool ensure(std::uint64_t offset, std::uint64_t n) const;
  [[nodiscard]] bool load(std::size_t chunk) const;

  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  const MemoryReader* memory_ = nullptr;  ///< null: borrowed
  Address address_ = 0;
  std::shared_ptr<const void> owner_;
  mutable std::vector<Chunk> chunks_;
  mutable std::uint64_t loaded_ = 0;
  mutable bool has_holes_ = false;
};

}  // namespace mixstack::dotnet::names
