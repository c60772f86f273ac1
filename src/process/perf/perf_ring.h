// A ring that the kernel writes records of perf events into, mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "mixstack/result.h"
#include "process/perf/record_window.h"

namespace mixstack::perf {

/// Owns the mapping; the event must stay open for the kernel to go on writing. Not thread-safe.
class PerfRing {
 public:
  /// Maps the ring of an event. `bytes` is a power of two of at least one page; where the kernel does not let us lock
  /// so much memory a smaller one is made, of `least` or more. Errors: permission_denied (not even `least`), io_error.
  [[nodiscard]] static Result<PerfRing> map(int event, std::size_t bytes, std::size_t least);

  /// Reads how far the kernel has written.
  void look();
  [[nodiscard]] bool is_empty() const { return window_.is_empty(); }
  /// When the first record was written. The ring must not be empty.
  [[nodiscard]] std::uint64_t first_time();
  /// The first record; empty: the ring was damaged, and everything in it was dropped.
  [[nodiscard]] std::span<const std::byte> first();
  /// Gives the first record's room back to the kernel; bytes that were borrowed from it may change from now on.
  void drop_first(std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// How often the ring held something that the kernel does not write.
  [[nodiscard]] std::uint64_t damages() const { return damages_; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(void* mapping) const;
  };
  PerfRing(std::unique_ptr<void, Unmap> mapping, std::span<const std::byte> records);
  void publish_tail();

  std::unique_ptr<void, Unmap> mapping_;
  std::size_t bytes_ = 0;
  RecordWindow window_;
  std::uint64_t damages_ = 0;
};

}  // namespace mixstack::perf
