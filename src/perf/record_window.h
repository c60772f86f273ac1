// The records between two positions of a ring of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::perf {

/// Goes from record to record. Borrows the ring, whose size is a power of two and whose bytes between the positions
/// nobody changes meanwhile. Not thread-safe.
class RecordWindow {
 public:
  explicit RecordWindow(std::span<const std::byte> ring) : ring_(ring) {}

  /// There are records up to `head` now. False: no ring can hold so much, or less than before; then there are none.
  [[nodiscard]] bool extend(std::uint64_t head);
  [[nodiscard]] bool is_empty() const { return tail_ == head_; }
  /// The record at the tail, in the ring or, where it is torn by the ring's end, in a copy that holds until the next
  /// call. Errors: `malformed`: it cannot be a record, so that nobody knows where the next begins.
  [[nodiscard]] Result<std::span<const std::byte>> first();
  /// Done with it.
  void drop_first(std::size_t bytes) { tail_ += bytes; }
  /// Done with all.
  void drop_all() { tail_ = head_; }
  [[nodiscard]] std::uint64_t tail() const { return tail_; }

 private:
  std::span<const std::byte> ring_;
  std::uint64_t tail_ = 0, head_ = 0;
  std::vector<std::byte> torn_;
};

}  // namespace mixstack::perf
