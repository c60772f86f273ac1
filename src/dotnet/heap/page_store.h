// Pages of a process that stands still, as they are read for a search of its heap.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::objects {

/// Keeps what was read once, or was given to it: objects lie near each other, and each read of a process is a system
/// call. Never drops a page: beyond its limit it reads through. Not thread-safe. Borrows the memory below.
class PageStore final : public MemoryReader {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kMostPages = 1 << 17;  ///< 512 MB

  explicit PageStore(const MemoryReader& below) : below_(below) {}

  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  [[nodiscard]] bool has_whole_pages() const override { return below_.has_whole_pages(); }
  /// The pages around an address out of bytes that were read already.
  void keep(Address address, std::size_t size, Address base, std::span<const std::byte> bytes);

 private:
  struct Page {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t valid = 0;  ///< readable bytes from its begin; 0: it cannot be read
  };
  [[nodiscard]] const Page* page(Address aligned) const;

  const MemoryReader& below_;
  mutable std::unordered_map<Address, Page> pages_;
  mutable Address latest_at_ = ~Address{0};
  mutable const Page* latest_ = nullptr;
};

}  // namespace mixstack::dotnet::objects
