// Which pages of a process are present, so that no read makes the kernel fill one.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>

#include "base/system/scoped_fd.h"
#include "mixstack/address.h"

namespace mixstack::memory {

/// Reads /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst): one word a page, bit 63 says that it is in
/// memory and mapped, bit 62 that it is in swap, bit 61 that it is a file's or shared. A page once seen present counts
/// as present until `forget()`, even if only a neighbour was asked for; any other is looked up each time. Thread-safe.
class PageMap {
 public:
  enum class State : std::uint8_t {
    present,  ///< memory of the process alone
    shared,   ///< present, but a file's page or shared: it may be evicted at any moment, and a read then waits for it
    swapped,
    absent,   ///< a read would make the kernel allocate it, or read it from a file
    unknown,  ///< the kernel does not say: no pagemap, or no right to it
  };
  /// Neighbouring pages in the same state.
  struct Run {
    State state = State::unknown;
    Address end = 0;
  };

  PageMap() = default;
  /// An open pagemap; without one every page is `unknown`.
  explicit PageMap(base::ScopedFd pagemap, std::uint64_t page_size = 4096)
      : file_(std::move(pagemap)), page_size_(page_size) {}

  /// The state of the page at `range.begin` and how far, within the range, pages share it; at least one page, at most
  /// some megabytes. The range must not be empty.
  [[nodiscard]] Run run(AddressRange range) const;
  /// Scans a long range with few system calls (PAGEMAP_SCAN, Linux 6.7) and remembers the present pages, up to 65,536
  /// runs. False if the kernel cannot: use `run` piece by piece.
  [[nodiscard]] bool scan(AddressRange range) const;
  void forget();

 private:
  static constexpr std::uint64_t kChunkPages = 512;
  using Bits = std::array<std::uint64_t, kChunkPages / 64>;  // a bit for each page
  struct Chunk {
    Bits seen{}, shared{};
  };
  [[nodiscard]] Run seen_pages(std::uint64_t first, std::uint64_t limit) const;
  void remember(std::uint64_t first, std::span<const std::uint64_t> entries) const;
  void remember(std::uint64_t first, std::uint64_t end, State state) const;
  [[nodiscard]] Run look_up(std::uint64_t first, std::uint64_t limit) const;

  base::ScopedFd file_;
  std::uint64_t page_size_ = 4096;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t, Chunk> seen_;
};

}  // namespace mixstack::memory
